/** A forgotten password: a mail with a token, then a new one. */

import { useState } from 'react';
import { api, ask } from '@/api/client';
import { signIn } from '@/strings';
import { ActionForm } from '@/ui/ActionForm';
import { Input } from '@/ui/Form';
import { AddressForm, MailedSteps, NewPasswordInput } from './MailedSteps';
import { dropMailedToken, mailedToken } from './mailedToken';

const request = (email: string) => ask(api.POST('/v1/password-resets', { body: { email } }));

export function ResetPassword() {
  const [known] = useState(() => mailedToken('gpm'));
  return (
    <MailedSteps
      title={signIn.resetTitle}
      known={known}
      done={signIn.resetDone}
      address={(onDone) => <AddressForm label={signIn.resetSubmit} work={request} onDone={onDone} />}
    >
      {(onDone) => <NewPassword known={known} onDone={onDone} />}
    </MailedSteps>
  );
}

function NewPassword({ known, onDone }: { known: string; onDone: () => void }) {
  const [token, setToken] = useState(known);
  const [password, setPassword] = useState('');
  const done = () => {
    dropMailedToken();
    onDone();
  };
  return (
    <ActionForm
      label={signIn.resetConfirm}
      work={() => ask(api.POST('/v1/password-resets/confirm', { body: { token, password } }))}
      onDone={done}
      kind="primary"
      isWide
    >
      <p>{signIn.resetLead}</p>
      <Input
        label={signIn.token}
        required
        autoComplete="off"
        value={token}
        onChange={(event) => setToken(event.target.value)}
      />
      <NewPasswordInput value={password} onChange={setPassword} />
    </ActionForm>
  );
}
