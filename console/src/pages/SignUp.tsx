import { useState } from 'react';
import { api, ask } from '@/api/client';
import { signIn } from '@/strings';
import { ActionForm } from '@/ui/ActionForm';
import { Input } from '@/ui/Form';
import { AddressForm, MailedSteps, NewPasswordInput } from './MailedSteps';
import { dropMailedToken, mailedToken } from './mailedToken';

const request = (email: string) => ask(api.POST('/v1/users', { body: { email } }));

/** A new account: a mail with a token, then a name and a password of who reads it. */
export function SignUp() {
  const [known] = useState(() => mailedToken('gpm') || mailedToken('gpi'));
  return (
    <MailedSteps
      title={signIn.signUp}
      known={known}
      done={signIn.confirmed}
      address={(onDone) => (
        <AddressForm label={signIn.sendMail} work={request} onDone={onDone} onHaveToken={onDone} />
      )}
    >
      {(onDone) => <Account known={known} onDone={onDone} />}
    </MailedSteps>
  );
}

function Account({ known, onDone }: { known: string; onDone: () => void }) {
  const [form, setForm] = useState({ token: known, name: '', password: '' });
  const set = (name: keyof typeof form) => (event: { target: { value: string } }) =>
    setForm({ ...form, [name]: event.target.value });
  const done = () => {
    dropMailedToken();
    onDone();
  };
  return (
    <ActionForm
      label={signIn.signUp}
      work={() => ask(api.POST('/v1/users/confirm', { body: form }))}
      onDone={done}
      kind="primary"
      isWide
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
      <NewPasswordInput value={form.password} onChange={(password) => setForm({ ...form, password })} />
    </ActionForm>
  );
}
