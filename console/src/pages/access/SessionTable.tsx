/** Who is inside: for an allocation, an organization, or all of them. */

import type { ReactNode } from 'react';
import type { AccessSession } from '@/api/access';
import { bytes } from '@/format/size';
import { access } from '@/strings';
import { Badge, type Tone } from '@/ui/Badge';
import { Below, Table } from '@/ui/Table';
import { Mono, Time } from '@/ui/Values';

const text = access.sessions;
const TONES: Readonly<Record<string, Tone>> = { open: 'ok', opening: 'busy', detached: 'warn' };
interface Props {
  label: string;
  items: readonly AccessSession[];
  who: (session: AccessSession) => ReactNode;
  /** Left out where all are of one. */
  where?: (session: AccessSession) => ReactNode;
  actions: (session: AccessSession) => ReactNode;
}

export function SessionTable({ label, items, who, where, actions }: Props) {
  return (
    <Table
      label={label}
      items={items}
      keyOf={(it) => it.id}
      columns={[
        {
          name: text.who,
          cell: (it) => (
            <>
              <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
                {who(it)}
                {it.break_glass && (
                  <span title={text.breakGlassWhy(it.break_glass)}>
                    <Badge tone="bad">{text.breakGlass}</Badge>
                  </span>
                )}
                {it.is_shared && <Badge>{text.shared}</Badge>}
              </span>
              <Below>
                {text.kinds[it.kind] ?? it.kind} · <Time at={it.created_at} />
              </Below>
              {where && <Below>{where(it)}</Below>}
            </>
          ),
        },
        {
          name: text.how,
          wide: true,
          cell: (it) => (
            <span className="whitespace-nowrap">
              {text.kinds[it.kind] ?? it.kind}
              {it.port ? <span className="text-faint"> · {text.port(it.port)}</span> : null}
            </span>
          ),
        },
        ...(where ? [{ name: text.allocation, wide: true, cell: where }] : []),
        { name: text.from, wide: true, cell: (it) => <Mono>{it.address}</Mono> },
        { name: text.since, wide: true, cell: (it) => <Time at={it.created_at} /> },
        {
          name: text.traffic,
          end: true,
          wide: true,
          cell: (it) => (
            <span className="whitespace-nowrap">
              {bytes(it.bytes_in)} / {bytes(it.bytes_out)}
            </span>
          ),
        },
        {
          name: text.state,
          cell: (it) => (
            <span title={it.reason ?? undefined}>
              <Badge tone={TONES[it.state] ?? 'idle'}>{text.stateNames[it.state] ?? it.state}</Badge>
            </span>
          ),
        },
        { name: text.actions, quiet: true, end: true, cell: (it) => actions(it) },
      ]}
    />
  );
}
