/** Another address for one's account: proven by a mail before it replaces the old one. */

import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask } from '@/api/client';
import { signOut } from '@/session/session';
import { account as text } from '@/strings';
import { useAct } from '@/ui/act';
import { Button } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Failure } from '@/ui/Feedback';
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
  const { busy, error, act } = useAct();
  const submit = async () => {
    const body = { email, ...(password ? { password } : {}) };
    if (await act(() => ask(api.POST('/v1/me/address-changes', { body })))) onDone();
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
      {error !== undefined && <Failure error={error} />}
      <Button type="submit" busy={busy}>
        {text.changeAddress}
      </Button>
    </form>
  );
}

function Confirm({ known }: { known: string }) {
  const queries = useQueryClient();
  const [token, setToken] = useState(known);
  const { busy, error, act } = useAct();
  const submit = async () => {
    const isDone = await act(() => ask(api.POST('/v1/me/address-changes/confirm', { body: { token } })));
    if (!isDone) return;
    dropMailedToken();
    await signOut();
    queries.clear();
  };
  return (
    <form
      className="space-y-4"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <p>{text.addressMailed}</p>
      <Input
        label={text.addressToken}
        required
        autoComplete="off"
        value={token}
        onChange={(event) => setToken(event.target.value)}
      />
      {error !== undefined && <Failure error={error} />}
      <Button type="submit" busy={busy}>
        {text.confirmAddress}
      </Button>
    </form>
  );
}
