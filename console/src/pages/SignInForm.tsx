import { useState } from 'react';
import type { Schemas } from '@/api/client';
import { challengeOf } from '@/api/problem';
import { finishMfa, signIn as enter } from '@/session/session';
import { mfa, signIn } from '@/strings';
import { Button } from '@/ui/Button';
import { Failure } from '@/ui/Feedback';
import { Input } from '@/ui/Form';
import { SecondFactor } from './mfa/SecondFactor';

export function SignInForm({ email: known, onDone }: { email?: string | undefined; onDone: () => void }) {
  const [email, setEmail] = useState(known ?? '');
  const [password, setPassword] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const [challenge, setChallenge] = useState<Schemas['MfaChallenge']>();
  const submit = async () => {
    setBusy(true);
    setError(undefined);
    try {
      await enter(email, password);
      onDone();
    } catch (failed) {
      const asked = challengeOf(failed);
      if (asked) setChallenge(asked);
      else setError(failed);
    } finally {
      setBusy(false);
    }
  };
  if (challenge) {
    return (
      <SecondFactor
        challenge={challenge}
        cancel={mfa.startOver}
        onCancel={() => setChallenge(undefined)}
        onAnswer={async (answer) => {
          await finishMfa(answer);
          onDone();
        }}
      />
    );
  }
  return (
    <form
      className="space-y-4"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <Input
        label={signIn.email}
        type="email"
        name="email"
        autoComplete="username"
        required
        value={email}
        onChange={(event) => setEmail(event.target.value)}
      />
      <Input
        label={signIn.password}
        type="password"
        name="password"
        autoComplete="current-password"
        required
        value={password}
        onChange={(event) => setPassword(event.target.value)}
      />
      {error !== undefined && <Failure error={error} />}
      <Button type="submit" kind="primary" busy={busy} className="w-full">
        {signIn.submit}
      </Button>
    </form>
  );
}
