/** A person's second factors: adding, removing, and recovery codes. */

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask, type Schemas } from '@/api/client';
import { mfaQuery } from '@/api/people';
import { hasPasskeys } from '@/session/passkeys';
import { common, mfa as text } from '@/strings';
import { useAct } from '@/ui/act';
import { Button } from '@/ui/Button';
import { Confirm, SecretOnce } from '@/ui/Dialog';
import { List } from '@/ui/List';
import { Time } from '@/ui/Values';
import { AddApp } from './AddApp';
import { AddPasskey } from './AddPasskey';

type Adding = 'app' | 'passkey';

export function Factors() {
  const query = useQuery(mfaQuery());
  const queries = useQueryClient();
  const [adding, setAdding] = useState<Adding>();
  const [removing, setRemoving] = useState<Schemas['Factor']>();
  const [codes, setCodes] = useState<readonly string[]>();
  const { error, act } = useAct();
  const refresh = () => queries.invalidateQueries({ queryKey: ['mfa_factor'] });
  const added = (made: Schemas['NewFactor']) => {
    setAdding(undefined);
    setCodes(made.recovery_codes ?? undefined);
    void refresh();
  };
  const replace = () =>
    act(async () => {
      const made = await ask(api.POST('/v1/me/mfa/recovery-codes'));
      setCodes(made.recovery_codes);
      await refresh();
    });
  const state = query.data;
  return (
    <>
      <List
        title={text.title}
        lead={state?.required ? text.required : text.lead}
        actions={
          <>
            {state && state.factors.length > 0 && (
              <Button small onClick={() => void replace()}>
                {text.newCodes}
              </Button>
            )}
            {hasPasskeys() && (
              <Button small onClick={() => setAdding('passkey')}>
                {text.addPasskey}
              </Button>
            )}
            <Button small onClick={() => setAdding('app')}>
              {text.addApp}
            </Button>
          </>
        }
        query={{ ...query, data: state?.factors }}
        error={error}
        empty={{ icon: 'key', title: text.noneTitle, lead: text.noneLead, command: text.command }}
        label={text.title}
        keyOf={(it) => it.id}
        columns={[
          { name: common.name, cell: (it) => <span className="font-medium">{it.name}</span> },
          { name: text.kind, cell: (it) => text.kinds[it.kind] ?? it.kind },
          { name: common.created, wide: true, cell: (it) => <Time at={it.created_at} /> },
          { name: text.lastUsed, wide: true, cell: (it) => <Time at={it.last_used_at} /> },
        ]}
        rowActions={(it) => (
          <Button small kind="quiet" onClick={() => setRemoving(it)}>
            {common.remove}
          </Button>
        )}
        after={
          state && state.factors.length > 0 ? (
            <p className="px-4 py-3 text-sm text-faint">{text.left(state.recovery_codes_left)}</p>
          ) : undefined
        }
      />
      {adding === 'app' && <AddApp onClose={() => setAdding(undefined)} onAdded={added} />}
      {adding === 'passkey' && <AddPasskey onClose={() => setAdding(undefined)} onAdded={added} />}
      {codes && (
        <SecretOnce title={text.codesTitle} secret={codes.join('\n')} onClose={() => setCodes(undefined)} />
      )}
      {removing && (
        <Confirm
          title={text.removeTitle}
          lead={text.removeLead}
          name={removing.name}
          action={common.remove}
          onClose={() => setRemoving(undefined)}
          onConfirm={async () => {
            const params = { path: { factor_id: removing.id } };
            await ask(api.DELETE('/v1/me/mfa/factors/{factor_id}', { params }));
            await refresh();
          }}
        />
      )}
    </>
  );
}
