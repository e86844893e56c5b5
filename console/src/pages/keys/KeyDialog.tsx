/** A new key, of a person or of a service account: its scopes, its end, and its secret once. */

import { useState } from 'react';
import type { Schemas } from '@/api/client';
import { now } from '@/session/clock';
import { common, serviceAccounts as text } from '@/strings';
import { SecretOnce } from '@/ui/Dialog';
import { Input, Select } from '@/ui/Form';
import { FormDialog } from '@/ui/FormDialog';

type Permission = Schemas['PermissionChoice'];

type OwnScope = Exclude<Permission, `platform.${string}`>;

/** All of an organization's, which the compiler counts. */
const KNOWN: Record<OwnScope, true> = {
  'organization:read': true,
  'organization:write': true,
  'organization:close': true,
  'members:read': true,
  'members:write': true,
  'projects:read': true,
  'projects:write': true,
  'service_accounts:read': true,
  'service_accounts:write': true,
  'policies:read': true,
  'policies:write': true,
  'audit:read': true,
  'events:read': true,
  'allocations:read': true,
  'allocations:write': true,
  'access:read': true,
  'access:write': true,
  'recordings:read': true,
  'quotas:read': true,
  'ledger:read': true,
  'budgets:write': true,
  'billing_profile:write': true,
  'payments:read': true,
  'payments:write': true,
  'webhooks:read': true,
  'webhooks:write': true,
};
const SCOPES = Object.keys(KNOWN) as OwnScope[];

const FIRST: readonly Permission[] = [
  'projects:read',
  'allocations:read',
  'allocations:write',
  'events:read',
];
const DAYS = [7, 30, 90, 365];

interface Props {
  onClose: () => void;
  onCreate: (spec: Schemas['KeySpec']) => Promise<Schemas['NewKey']>;
}

export function KeyDialog({ onClose, onCreate }: Props) {
  const [name, setName] = useState('');
  const [days, setDays] = useState(90);
  const [scopes, setScopes] = useState<readonly Permission[]>(FIRST);
  const [secret, setSecret] = useState<string>();
  if (secret) return <SecretOnce title={text.secret} secret={secret} onClose={onClose} />;
  return (
    <FormDialog
      title={text.newKey}
      action={common.create}
      canSubmit={scopes.length > 0}
      hasSequel
      onClose={onClose}
      onSubmit={async () => {
        const expires_at = new Date(now() + days * 86_400_000).toISOString();
        const made = await onCreate({ name: name.trim(), scopes: [...scopes], expires_at });
        setSecret(made.secret);
      }}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <Input label={text.name} required value={name} onChange={(event) => setName(event.target.value)} />
        <Select label={text.expiresIn} value={days} onChange={(event) => setDays(Number(event.target.value))}>
          {DAYS.map((it) => (
            <option key={it} value={it}>
              {text.days(it)}
            </option>
          ))}
        </Select>
      </div>
      <fieldset>
        <legend className="text-sm font-medium">{text.scopes}</legend>
        <p className="mb-2 text-sm text-faint">{text.scopesHint}</p>
        <div className="grid gap-x-4 gap-y-1.5 sm:grid-cols-2">
          {SCOPES.map((scope) => (
            <label key={scope} className="flex items-center gap-2 font-mono text-xs">
              <input
                type="checkbox"
                checked={scopes.includes(scope)}
                onChange={() =>
                  setScopes(scopes.includes(scope) ? scopes.filter((it) => it !== scope) : [...scopes, scope])
                }
                className="size-4 accent-accent"
              />
              {scope}
            </label>
          ))}
        </div>
      </fieldset>
    </FormDialog>
  );
}
