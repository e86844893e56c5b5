import { useState } from 'react';
import type { Schemas } from '@/api/client';
import { common, serviceAccounts as text } from '@/strings';
import { Badge } from '@/ui/Badge';
import { Button } from '@/ui/Button';
import { Confirm } from '@/ui/Dialog';
import { Table } from '@/ui/Table';
import { Mono, Time } from '@/ui/Values';

type Key = Schemas['Key'];

interface Props {
  keys: readonly Key[];
  onRevoke: (key: Key) => Promise<unknown>;
}

// bound: more than this many are counted; hovering names them
const SHOWN_SCOPES = 3;

function Scopes({ scopes }: { scopes: readonly string[] }) {
  const more = scopes.length - SHOWN_SCOPES;
  return (
    <Mono className="text-soft">
      <span title={scopes.join('\n')}>
        {scopes.slice(0, SHOWN_SCOPES).join(' ')}
        {more > 0 && ` ${text.moreScopes(more)}`}
      </span>
    </Mono>
  );
}

export function KeyTable({ keys, onRevoke }: Props) {
  const [revoking, setRevoking] = useState<Key>();
  return (
    <>
      <Table
        label={text.keys}
        items={keys}
        keyOf={(it) => it.id}
        columns={[
          {
            name: text.name,
            cell: (it) => (
              <span>
                <span className="font-medium">{it.name}</span>{' '}
                {it.revoked_at && <Badge>{text.revoked}</Badge>}
                <span className="block text-faint">
                  <Mono>{it.prefix}…</Mono>
                </span>
              </span>
            ),
          },
          {
            name: text.scopes,
            wide: true,
            cell: (it) => <Scopes scopes={it.scopes} />,
          },
          {
            name: text.lastUsed,
            wide: true,
            cell: (it) => (it.last_used_at ? <Time at={it.last_used_at} /> : common.never),
          },
          { name: text.expires, cell: (it) => <Time at={it.expires_at} /> },
        ]}
        rowActions={(it) =>
          !it.revoked_at && (
            <Button small kind="quiet" onClick={() => setRevoking(it)}>
              {common.revoke}
            </Button>
          )
        }
      />
      {revoking && (
        <Confirm
          title={text.revokeTitle}
          lead={text.revokeLead}
          name={revoking.name}
          action={common.revoke}
          onClose={() => setRevoking(undefined)}
          onConfirm={() => onRevoke(revoking)}
        />
      )}
    </>
  );
}
