/** Adds a passkey, which the browser makes. */

import { useState } from 'react';
import { api, ask, type Schemas } from '@/api/client';
import { makePasskey } from '@/session/passkeys';
import { mfa as text } from '@/strings';
import { Input } from '@/ui/Form';
import { FormDialog } from '@/ui/FormDialog';

interface Props {
  onClose: () => void;
  onAdded: (made: Schemas['NewFactor']) => void;
}

export function AddPasskey({ onClose, onAdded }: Props) {
  const [name, setName] = useState('');
  return (
    <FormDialog
      title={text.addPasskey}
      lead={text.addPasskeyLead}
      action={text.addPasskey}
      hasSequel
      onClose={onClose}
      onSubmit={async () => {
        const started = await ask(api.POST('/v1/me/mfa/passkeys'));
        const made = await makePasskey(started.options);
        const body = { challenge: started.challenge, name: name.trim(), ...made };
        onAdded(await ask(api.POST('/v1/me/mfa/passkeys/confirm', { body })));
      }}
    >
      <Input
        label={text.name}
        hint={text.nameHint}
        required
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
    </FormDialog>
  );
}
