/** Asks for the second factor over the page, for a request that waits for it. */

import { useQuery } from '@tanstack/react-query';
import { api, ask } from '@/api/client';
import { SecondFactor } from '@/pages/mfa/SecondFactor';
import { waiting } from '@/session/stepUp';
import { useStore } from '@/session/store';
import { common, mfa as text } from '@/strings';
import { Dialog } from '@/ui/Dialog';
import { Answer } from '@/ui/Feedback';

export function StepUp() {
  const request = useStore(waiting);
  return request && <Asking done={request.done} />;
}

function Asking({ done }: { done: (isConfirmed: boolean) => void }) {
  // A challenge works once, so that none is used again.
  const challenge = useQuery({
    queryKey: ['mfa_challenge'],
    queryFn: () => ask(api.POST('/v1/me/mfa/challenges')),
    gcTime: 0,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  });
  return (
    <Dialog title={text.stepUp} lead={text.stepUpLead} onClose={() => done(false)}>
      <Answer query={challenge}>
        {(data) => (
          <SecondFactor
            challenge={data}
            cancel={common.cancel}
            onCancel={() => done(false)}
            onAnswer={async (body) => {
              await ask(api.POST('/v1/me/mfa/verify', { body }));
              done(true);
            }}
          />
        )}
      </Answer>
    </Dialog>
  );
}
