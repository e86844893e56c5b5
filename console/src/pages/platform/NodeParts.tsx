/** What belongs to a node: how it is built, what it was told, what happened, what it is known by. */

import { useInfiniteQuery } from '@tanstack/react-query';
import type { Schemas } from '@/api/client';
import { flat } from '@/api/lists';
import { platformEventsQuery } from '@/api/platform';
import { words } from '@/format/size';
import { now } from '@/session/clock';
import { common, operations } from '@/strings';
import { Badge, State, toneOf } from '@/ui/Badge';
import { Card } from '@/ui/Card';
import { classes } from '@/ui/classes';
import { Answer } from '@/ui/Feedback';
import { More, Table } from '@/ui/Table';
import { Mono, Time } from '@/ui/Values';
import { near } from './topology';

const text = operations.node;

const SLOT_LOOKS = {
  ok: 'border-accent',
  warn: 'border-warn',
  bad: 'border-bad',
  busy: 'border-busy',
  idle: '',
};

export function Topology({
  slots,
  fabric,
}: {
  slots: readonly Schemas['Slot'][];
  fabric: string | null | undefined;
}) {
  if (slots.length === 0) return null;
  return (
    <Card title={text.topology} lead={text.topologyLead}>
      {fabric && (
        <p className="mb-3 text-sm">
          <span className="text-faint">{text.fabric}</span> <Mono>{fabric}</Mono>
        </p>
      )}
      <div className="grid gap-3 md:grid-cols-2">
        {near(slots).map((part) => (
          <section key={part.numa ?? 'none'} className="min-w-0 rounded-lg border p-3">
            <h3 className="mb-2 text-sm font-medium">
              {part.numa === undefined ? text.noNuma : text.numa(String(part.numa))}
            </h3>
            <ul className="flex flex-wrap gap-2">
              {part.slots.map((slot) => (
                <li
                  key={slot.id}
                  title={`${slot.model}, ${words(slot.condition)}`}
                  className={classes(
                    'rounded-md border-l-4 bg-sunken px-2.5 py-1.5 text-sm',
                    SLOT_LOOKS[toneOf(slot.condition)],
                  )}
                >
                  GPU {slot.index}
                  <span className="block text-xs text-soft">
                    {words(slot.held_by ? 'in_use' : slot.condition)}
                  </span>
                </li>
              ))}
            </ul>
            {(part.networks.length > 0 || part.disks.length > 0) && (
              <p className="mt-2.5 text-xs break-words text-soft">
                <Mono>{[...part.networks, ...part.disks].join(' · ')}</Mono>
              </p>
            )}
          </section>
        ))}
      </div>
    </Card>
  );
}

export function Tasks({ tasks }: { tasks: readonly Schemas['NodeTask'][] }) {
  return (
    <Card title={text.tasks} flush>
      {tasks.length === 0 ? (
        <p className="p-4 text-faint">{text.noTasks}</p>
      ) : (
        <Table
          label={text.tasks}
          items={tasks}
          keyOf={(it) => it.id}
          columns={[
            { name: text.task, cell: (it) => words(it.verb) },
            { name: common.state, cell: (it) => <State state={it.state} /> },
            { name: text.about, wide: true, cell: (it) => words(it.kind) },
            {
              name: text.detail,
              wide: true,
              cell: (it) => <span className="text-soft">{it.detail ?? '–'}</span>,
            },
            { name: text.created, end: true, cell: (it) => <Time at={it.created_at} /> },
            { name: text.reported, end: true, wide: true, cell: (it) => <Time at={it.reported_at} /> },
          ]}
        />
      )}
    </Card>
  );
}

export function NodeEvents({ node }: { node: string }) {
  const query = useInfiniteQuery(platformEventsQuery({ resource: node }));
  return (
    <Card title={text.events} flush>
      <Answer query={{ ...query, data: flat(query.data) }}>
        {(items) =>
          items.length === 0 ? (
            <p className="p-4 text-faint">{text.noEvents}</p>
          ) : (
            <>
              <Table
                label={text.events}
                items={items}
                keyOf={(it) => it.id}
                columns={[
                  { name: operations.payments.event, cell: (it) => words(it.subject) },
                  { name: text.detail, wide: true, cell: (it) => <Detail event={it} /> },
                  { name: operations.payments.when, end: true, cell: (it) => <Time at={it.at} /> },
                ]}
              />
              <More query={query} />
            </>
          )
        }
      </Answer>
    </Card>
  );
}

/** What an event adds to its name: from where to where, or why. */
function Detail({ event }: { event: Schemas['RecordedEvent'] }) {
  const data = event.data as Record<string, unknown>;
  const said = (name: string) => (typeof data[name] === 'string' ? words(String(data[name])) : undefined);
  const move = said('from') && said('to') ? `${said('from')} → ${said('to')}` : undefined;
  const parts = [move, said('health'), said('condition'), said('reason')].filter(Boolean);
  return <span className="text-soft">{parts.join(' · ') || '–'}</span>;
}

export function Certificates({ certificates }: { certificates: readonly Schemas['NodeCertificate'][] }) {
  const standing = (it: Schemas['NodeCertificate']) => {
    if (it.revoked_at) return <Badge tone="bad">{text.revoked}</Badge>;
    if (Date.parse(it.expires_at) <= now()) return <Badge tone="warn">{text.expired}</Badge>;
    return <Badge tone="ok">{text.valid}</Badge>;
  };
  return (
    <Card title={text.certificates} flush>
      {certificates.length === 0 ? (
        <p className="p-4 text-faint">{text.noCertificates}</p>
      ) : (
        <Table
          label={text.certificates}
          items={certificates}
          keyOf={(it) => it.serial}
          columns={[
            {
              name: text.serial,
              wide: true,
              cell: (it) => <Mono className="break-all">{it.serial}</Mono>,
            },
            { name: common.state, cell: standing },
            { name: text.issued, wide: true, cell: (it) => <Time at={it.issued_at} as="local" /> },
            { name: text.expires, cell: (it) => <Time at={it.expires_at} as="local" /> },
          ]}
        />
      )}
    </Card>
  );
}
