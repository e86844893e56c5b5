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

type Step = 'address' | 'account' | 'done';

/** A new account: a mail with a token, then a name and a password of who reads it. */
export function SignUp() {
  const [known] = useState(() => mailedToken('gpm') || mailedToken('gpi'));
  const [step, setStep] = useState<Step>(known ? 'account' : 'address');
  return (
    <Outside title={signIn.signUp}>
      {step === 'address' && <Address onDone={() => setStep('account')} />}
      {step === 'account' && <Account known={known} onDone={() => setStep('done')} />}
      {step === 'done' && <p role="status">{signIn.confirmed}</p>}
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
    if (await act(() => ask(api.POST('/v1/users', { body: { email } })))) onDone();
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
        {signIn.sendMail}
      </Button>
      <Button type="button" className="w-full" onClick={onDone}>
        {signIn.haveToken}
      </Button>
    </form>
  );
}

function Account({ known, onDone }: { known: string; onDone: () => void }) {
  const [form, setForm] = useState({ token: known, name: '', password: '' });
  const { busy, error, act } = useAct();
  const set = (name: keyof typeof form) => (event: { target: { value: string } }) =>
    setForm({ ...form, [name]: event.target.value });
  const submit = async () => {
    if (!(await act(() => ask(api.POST('/v1/users/confirm', { body: form }))))) return;
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
      {!known && <p>{signIn.confirmLead}</p>}
      <Input
        label={signIn.token}
        hint={signIn.tokenHint}
        required
        autoComplete="off"
        value={form.token}
        onChange={set('token')}
      />
      <Input label={signIn.name} required autoComplete="name" value={form.name} onChange={set('name')} />
      <Input
        label={signIn.newPassword}
        hint={signIn.passwordHint}
        type="password"
        required
        minLength={12}
        autoComplete="new-password"
        value={form.password}
        onChange={set('password')}
      />
      {error !== undefined && <Failure error={error} />}
      <Button type="submit" kind="primary" busy={busy} className="w-full">
        {signIn.signUp}
      </Button>
    </form>
  );
}
