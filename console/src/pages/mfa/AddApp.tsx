/** Adds an authenticator app: its secret once, and a code that proves it has it. */

import { useState } from 'react';
import { api, ask, type Schemas } from '@/api/client';
import { mfa as text } from '@/strings';
import { Input } from '@/ui/Form';
import { FormDialog } from '@/ui/FormDialog';
import { Command } from '@/ui/Values';

interface Props {
  onClose: () => void;
  onAdded: (made: Schemas['NewFactor']) => void;
}

export function AddApp({ onClose, onAdded }: Props) {
  const [name, setName] = useState('');
  const [code, setCode] = useState('');
  const [started, setStarted] = useState<Schemas['TotpStarted']>();
  if (!started) {
    return (
      <FormDialog
        title={text.addApp}
        lead={text.addAppLead}
        action={text.next}
        hasSequel
        onClose={onClose}
        onSubmit={async () => setStarted(await ask(api.POST('/v1/me/mfa/totp')))}
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
  return (
    <FormDialog
      title={text.addApp}
      lead={text.scan}
      action={text.confirm}
      hasSequel
      onClose={onClose}
      onSubmit={async () => {
        const body = { challenge: started.challenge, code: code.replaceAll(/\s/g, ''), name: name.trim() };
        onAdded(await ask(api.POST('/v1/me/mfa/totp/confirm', { body })));
      }}
    >
      <Command>{started.secret}</Command>
      <p className="text-sm">
        <a href={started.uri} className="text-accent-ink underline">
          {text.openApp}
        </a>
      </p>
      <Input
        label={text.appCode}
        autoComplete="one-time-code"
        inputMode="numeric"
        required
        value={code}
        onChange={(event) => setCode(event.target.value)}
      />
    </FormDialog>
  );
}
