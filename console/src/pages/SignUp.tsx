import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, ask } from '@/api/client';
import { signIn as enter } from '@/session/session';
import { signIn } from '@/strings';
import { Button } from '@/ui/Button';
import { Failure } from '@/ui/Feedback';
import { Input } from '@/ui/Form';
import { Outside } from './Outside';

export function SignUp() {
  const navigate = useNavigate();
  const [form, setForm] = useState({ name: '', email: '', password: '', invitation: '' });
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const set = (name: keyof typeof form) => (event: { target: { value: string } }) =>
    setForm({ ...form, [name]: event.target.value });
  const submit = async () => {
    setBusy(true);
    setError(undefined);
    try {
      const { invitation, ...rest } = form;
      await ask(api.POST('/v1/users', { body: { ...rest, ...(invitation ? { invitation } : {}) } }));
      await enter(form.email, form.password);
      await navigate({ to: '/' });
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  return (
    <Outside title={signIn.signUp}>
      <form
        className="space-y-4"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <Input label={signIn.name} required autoComplete="name" value={form.name} onChange={set('name')} />
        <Input
          label={signIn.email}
          type="email"
          required
          autoComplete="username"
          value={form.email}
          onChange={set('email')}
        />
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
        <Input
          label={signIn.invitation}
          hint={signIn.invitationHint}
          isOptional
          autoComplete="off"
          value={form.invitation}
          onChange={set('invitation')}
        />
        {error !== undefined && <Failure error={error} />}
        <Button type="submit" kind="primary" busy={busy} className="w-full">
          {signIn.signUp}
        </Button>
      </form>
      <p className="mt-5 text-center text-sm">
        <Link to="/sign-in" className="text-accent-ink underline">
          {signIn.haveAccount}
        </Link>
      </p>
    </Outside>
  );
}
