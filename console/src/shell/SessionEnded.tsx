/** Asks for the password over the page that somebody was at work on. */

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { settingsQuery, whoamiQuery } from '@/api/people';
import { SignInForm } from '@/pages/SignInForm';
import { refresh, whenAnotherTabSignsIn } from '@/session/session';
import { signIn } from '@/strings';
import { buttonLook } from '@/ui/Button';
import { classes } from '@/ui/classes';
import { Dialog } from '@/ui/Dialog';

export function SessionEnded() {
  const queries = useQueryClient();
  const settings = useQuery(settingsQuery());
  const email = queries.getQueryData(whoamiQuery().queryKey)?.user?.email;
  // Another tab may have signed in meanwhile; the cookie is shared.
  useEffect(() => {
    const look = () =>
      void refresh().then(
        (token) => (token ? queries.invalidateQueries() : undefined),
        () => undefined,
      );
    const forget = whenAnotherTabSignsIn(look);
    window.addEventListener('focus', look);
    return () => {
      forget();
      window.removeEventListener('focus', look);
    };
  }, [queries]);
  return (
    <Dialog title={signIn.ended} lead={signIn.endedLead} onClose={() => undefined} isFirm>
      <SignInForm email={email} onDone={() => void queries.invalidateQueries()} />
      {settings.data?.oidc && (
        <div className="mt-4 space-y-1 text-center">
          <a
            href="/sign-in?to=%2Faccount"
            target="_blank"
            rel="noopener"
            className={classes(buttonLook('plain'), 'w-full')}
          >
            {signIn.oidc}
          </a>
          <p className="text-sm text-faint">{signIn.elsewhere}</p>
        </div>
      )}
    </Dialog>
  );
}
