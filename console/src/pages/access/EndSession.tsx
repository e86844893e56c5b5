import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { AccessSession } from '@/api/access';
import { api, ask, once } from '@/api/client';
import { access } from '@/strings';
import { Button } from '@/ui/Button';
import { Confirm } from '@/ui/Dialog';

const text = access.sessions;

/** For members: their own, or anybody's for administrators. */
export function EndSession({ session }: { session: AccessSession }) {
  const queries = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  if (session.state === 'ended') return null;
  const path = { organization_id: session.organization_id, access_session_id: session.id };
  return (
    <>
      <Button small kind="warn" onClick={() => setAsking(true)}>
        {text.end}
      </Button>
      {isAsking && (
        <Confirm
          title={text.endTitle}
          lead={text.endLead}
          name={text.confirmWord(session.id)}
          action={text.endSession}
          onClose={() => setAsking(false)}
          onConfirm={async () => {
            await ask(
              api.POST('/v1/organizations/{organization_id}/access-sessions/{access_session_id}/end', {
                params: { path, header: once() },
              }),
            );
            await queries.invalidateQueries({ queryKey: ['access_session'] });
          }}
        />
      )}
    </>
  );
}
