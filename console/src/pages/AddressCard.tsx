/** Another address for one's account: proven by a mail before it replaces the old one. */

import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask } from '@/api/client';
import { signOut } from '@/session/session';
import { account as text } from '@/strings';
import { ActionForm } from '@/ui/ActionForm';
import { Card } from '@/ui/Card';
import { Input } from '@/ui/Form';
import { dropMailedToken, mailedToken } from './mailedToken';

export function AddressCard() {
  const [known] = useState(() => mailedToken('gpm'));
  const [isMailed, setMailed] = useState(known !== '');
  return (
    <Card title={text.address} lead={text.addressLead}>
      {isMailed ? <Confirm known={known} /> : <Request onDone={() => setMailed(true)} />}
    </Card>
  );
}

function Request({ onDone }: { onDone: () => void }) {
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const body = { email, ...(password ? { password } : {}) };
  return (
    <ActionForm
      label={text.changeAddress}
      work={() => ask(api.POST('/v1/me/address-changes', { body }))}
      onDone={onDone}
    >
      <Input
        label={text.newAddress}
        type="email"
        required
        autoComplete="off"
        value={email}
        onChange={(event) => setEmail(event.target.value)}
      />
      <Input
        label={text.current}
        hint={text.currentHint}
        type="password"
        isOptional
        autoComplete="current-password"
        value={password}
        onChange={(event) => setPassword(event.target.value)}
      />
    </ActionForm>
  );
}

function Confirm({ known }: { known: string }) {
  const queries = useQueryClient();
  const [token, setToken] = useState(known);
  const done = async () => {
    dropMailedToken();
    await signOut();
    queries.clear();
  };
  return (
    <ActionForm
      label={text.confirmAddress}
      work={() => ask(api.POST('/v1/me/address-changes/confirm', { body: { token } }))}
      onDone={done}
    >
      <p>{text.addressMailed}</p>
      <Input
        label={text.addressToken}
        required
        autoComplete="off"
        value={token}
        onChange={(event) => setToken(event.target.value)}
      />
    </ActionForm>
  );
}
