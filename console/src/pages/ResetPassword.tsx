/** A forgotten password: a mail with a token, then a new one. */

import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, ask } from '@/api/client';
import { signIn } from '@/strings';
import { useAct } from '@/ui/act';
import { Button } from '@/ui/Button';
import { Failure } from '@/ui/Feedback';
import { Input } from '@/ui/Form';
import { dropMailedToken, mailedToken } from './mailedToken';
import { Outside } from './Outside';

type Step = 'address' | 'token' | 'done';

export function ResetPassword() {
  const [known] = useState(() => mailedToken('gpm'));
  const [step, setStep] = useState<Step>(known ? 'token' : 'address');
  return (
    <Outside title={signIn.resetTitle}>
      {step === 'address' && <Address onDone={() => setStep('token')} />}
      {step === 'token' && <NewPassword known={known} onDone={() => setStep('done')} />}
      {step === 'done' && <p role="status">{signIn.resetDone}</p>}
      <p className="mt-5 text-center text-sm">
        <Link to="/sign-in" className="text-accent-ink underline">
          {signIn.haveAccount}
        </Link>
      </p>
    </Outside>
  );
}

function Address({ onDone }: { onDone: () => void }) {
  const [email, setEmail] = useState('');
  const { busy, error, act } = useAct();
  const submit = async () => {
    if (await act(() => ask(api.POST('/v1/password-resets', { body: { email } })))) onDone();
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
        required
        autoComplete="username"
        value={email}
        onChange={(event) => setEmail(event.target.value)}
      />
      {error !== undefined && <Failure error={error} />}
      <Button type="submit" kind="primary" busy={busy} className="w-full">
        {signIn.resetSubmit}
      </Button>
    </form>
  );
}

function NewPassword({ known, onDone }: { known: string; onDone: () => void }) {
  const [token, setToken] = useState(known);
  const [password, setPassword] = useState('');
  const { busy, error, act } = useAct();
  const submit = async () => {
    const isSet = await act(() =>
      ask(api.POST('/v1/password-resets/confirm', { body: { token, password } })),
    );
    if (!isSet) return;
    dropMailedToken();
    onDone();
  };
  return (
    <form
      className="space-y-4"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <p>{signIn.resetLead}</p>
      <Input
        label={signIn.token}
        required
        autoComplete="off"
        value={token}
        onChange={(event) => setToken(event.target.value)}
      />
      <Input
        label={signIn.newPassword}
        hint={signIn.passwordHint}
        type="password"
        required
        minLength={12}
        autoComplete="new-password"
        value={password}
        onChange={(event) => setPassword(event.target.value)}
      />
      {error !== undefined && <Failure error={error} />}
      <Button type="submit" kind="primary" busy={busy} className="w-full">
        {signIn.resetConfirm}
      </Button>
    </form>
  );
}
