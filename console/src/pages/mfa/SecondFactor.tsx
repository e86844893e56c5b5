/** Asks for a second factor: a code, a recovery code, or a passkey. */

import { useState } from 'react';
import type { Schemas } from '@/api/client';
import { asAnswer, hasPasskeys, provePasskey } from '@/session/passkeys';
import { mfa as text } from '@/strings';
import { useAct } from '@/ui/act';
import { Button } from '@/ui/Button';
import { Failure } from '@/ui/Feedback';
import { Input } from '@/ui/Form';

interface Props {
  challenge: Schemas['MfaChallenge'];
  onAnswer: (answer: Schemas['MfaAnswer']) => Promise<unknown>;
  onCancel: () => void;
  cancel: string;
}

export function SecondFactor({ challenge, onAnswer, onCancel, cancel }: Props) {
  const [typed, setTyped] = useState('');
  const { busy, error, act } = useAct();
  const { token, passkey } = challenge;
  const hasCodes = challenge.methods.includes('totp');
  return (
    <form
      className="space-y-4"
      onSubmit={(event) => {
        event.preventDefault();
        void act(() => onAnswer({ challenge: token, ...asAnswer(typed) }));
      }}
    >
      {passkey && hasPasskeys() && (
        <Button
          className="w-full"
          busy={busy}
          onClick={() =>
            void act(async () => onAnswer({ challenge: token, ...(await provePasskey(passkey)) }))
          }
        >
          {text.usePasskey}
        </Button>
      )}
      <Input
        label={hasCodes ? text.code : text.recoveryCode}
        hint={hasCodes ? text.codeHint : undefined}
        name="code"
        autoComplete="one-time-code"
        required
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
      {error !== undefined && <Failure error={error} />}
      <div className="flex flex-wrap gap-2">
        <Button type="submit" kind="primary" busy={busy} className="grow">
          {text.confirm}
        </Button>
        <Button onClick={onCancel}>{cancel}</Button>
      </div>
    </form>
  );
}
