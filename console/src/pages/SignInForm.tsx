import { useState } from 'react';
import { signIn as enter } from '@/session/session';
import { signIn } from '@/strings';
import { Button } from '@/ui/Button';
import { Failure } from '@/ui/Feedback';
import { Input } from '@/ui/Form';

export function SignInForm({ email: known, onDone }: { email?: string | undefined; onDone: () => void }) {
  const [email, setEmail] = useState(known ?? '');
  const [password, setPassword] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const submit = async () => {
    setBusy(true);
    setError(undefined);
    try {
      await enter(email, password);
      onDone();
    } catch (failed) {
      setError(failed);
    } finally {
      setBusy(false);
    }
  };
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
