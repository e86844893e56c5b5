import { useQuery } from '@tanstack/react-query';
import { Link, useRouter, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { api, ask } from '@/api/client';
import { settingsQuery } from '@/api/people';
import { standing } from '@/session/session';
import { useStore } from '@/session/store';
import { signIn } from '@/strings';
import { Button } from '@/ui/Button';
import { Failure } from '@/ui/Feedback';
import { keepOidc } from './oidc';
import { Outside } from './Outside';
import { SignInForm } from './SignInForm';

export function SignIn() {
  const router = useRouter();
  const { to } = useSearch({ from: '/sign-in' });
  const is = useStore(standing);
  const settings = useQuery(settingsQuery());
  const goOn = () => router.history.replace(to ?? '/');
  useEffect(() => {
    if (is === 'in') router.history.replace(to ?? '/');
  }, [is, router, to]);
  return (
    <Outside title={signIn.title}>
      <SignInForm onDone={goOn} />
      {settings.data?.oidc && <SingleSignOn to={to} />}
      {settings.data?.mail && (
        <p className="mt-5 text-center text-sm">
          <Link to="/reset-password" className="text-accent-ink underline">
            {signIn.forgot}
          </Link>
        </p>
      )}
      {settings.data?.self_service && (
        <p className="mt-5 text-center text-sm">
          <Link to="/sign-up" className="text-accent-ink underline">
            {signIn.signUp}
          </Link>
        </p>
      )}
    </Outside>
  );
}

function SingleSignOn({ to }: { to: string | undefined }) {
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const start = async () => {
    setBusy(true);
    try {
      const redirect_uri = `${location.origin}/signed-in`;
      const started = await ask(api.POST('/v1/sessions/oidc/start', { body: { redirect_uri } }));
      keepOidc({ state: started.state, to });
      location.assign(started.authorization_url);
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  return (
    <div className="mt-5 space-y-4">
      <p className="flex items-center gap-3 text-sm text-faint before:h-px before:grow before:bg-line after:h-px after:grow after:bg-line">
        {signIn.or}
      </p>
      <Button className="w-full" busy={busy} onClick={() => void start()}>
        {signIn.oidc}
      </Button>
      {error !== undefined && <Failure error={error} />}
    </div>
  );
}
