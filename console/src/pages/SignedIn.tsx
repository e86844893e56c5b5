/** Where the external issuer sends people back to. */

import { Link, useRouter, useSearch } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { challengeOf } from '@/api/problem';
import { finishMfa, finishOidc } from '@/session/session';
import { mfa, signIn } from '@/strings';
import { Failure, Skeleton } from '@/ui/Feedback';
import { SecondFactor } from './mfa/SecondFactor';
import { takeOidc } from './oidc';
import { Outside } from './Outside';

export function SignedIn() {
  const { code, state } = useSearch({ from: '/signed-in' });
  const router = useRouter();
  const [error, setError] = useState<unknown>();
  const began = useRef(false);
  const to = useRef('/');
  useEffect(() => {
    // The code works once, also where effects run twice.
    if (began.current) return;
    began.current = true;
    const started = takeOidc();
    const finish = async () => {
      if (!code || !state || started?.state !== state) throw new Error(signIn.stateDiffers);
      to.current = started.to ?? '/';
      await finishOidc(code, state);
      router.history.replace(to.current);
    };
    finish().catch(setError);
  }, [code, state, router]);
  const challenge = challengeOf(error);
  if (challenge) {
    return (
      <Outside title={mfa.signInTitle}>
        <SecondFactor
          challenge={challenge}
          cancel={mfa.startOver}
          onCancel={() => router.history.replace('/sign-in')}
          onAnswer={async (answer) => {
            await finishMfa(answer);
            router.history.replace(to.current);
          }}
        />
      </Outside>
    );
  }
  return (
    <Outside title={signIn.title}>
      {error === undefined ? (
        <>
          <p className="text-center text-soft">{signIn.finishing}</p>
          <Skeleton lines={2} />
        </>
      ) : (
        <div className="space-y-4">
          {error instanceof Error && error.message === signIn.stateDiffers ? (
            <p role="alert">{signIn.stateDiffers}</p>
          ) : (
            <Failure error={error} />
          )}
          <p className="text-center">
            <Link to="/sign-in" className="text-accent-ink underline">
              {signIn.haveAccount}
            </Link>
          </p>
        </div>
      )}
    </Outside>
  );
}
