import { type ReactNode, useState } from 'react';
import type { Schemas } from '@/api/client';
import { audit as text, common } from '@/strings';
import { State } from '@/ui/Badge';
import { Facts } from '@/ui/Card';
import { Dialog } from '@/ui/Dialog';
import { Below, Table } from '@/ui/Table';
import { Dotted, Id, Time } from '@/ui/Values';

type Entry = Schemas['AuditEntry'];

interface Props {
  items: readonly Entry[];
  /** Who acted, by a name where it is known; the id otherwise. */
  who?: (actor: string) => ReactNode;
}

export function AuditTable({ items, who = (actor) => <Id id={actor} /> }: Props) {
  const [shown, setShown] = useState<Entry>();
  return (
    <>
      <Table
        label={text.title}
        items={items}
        keyOf={(it) => it.id}
        columns={[
          { name: text.at, wide: true, cell: (it) => <Time at={it.at} as="exact" /> },
          {
            name: text.action,
            cell: (it) => (
              <>
                <button
                  type="button"
                  aria-label={`${text.details}: ${it.action}`}
                  onClick={() => setShown(it)}
                  className="text-left hover:text-accent-ink hover:underline"
                >
                  <Dotted name={it.action} className="font-medium" />
                </button>
                <Below>
                  <Time at={it.at} />
                </Below>
              </>
            ),
          },
          { name: text.outcome, cell: (it) => <State state={it.outcome} /> },
          { name: text.actor, wide: true, cell: (it) => who(it.actor) },
          { name: text.resource, wide: true, cell: (it) => (it.resource ? <Id id={it.resource} /> : '–') },
        ]}
      />
      {shown && <One entry={shown} onClose={() => setShown(undefined)} />}
    </>
  );
}

function One({ entry, onClose }: { entry: Entry; onClose: () => void }) {
  return (
    <Dialog title={entry.action} onClose={onClose}>
      <Facts
        items={[
          [text.at, <Time key="at" at={entry.at} as="exact" />],
          [text.outcome, <State key="outcome" state={entry.outcome} />],
          [text.actor, <Id key="actor" id={entry.actor} />],
          entry.resource ? [text.resource, <Id key="resource" id={entry.resource} />] : null,
          [text.correlation, <Id key="correlation" id={entry.correlation_id} />],
          [common.id, <Id key="id" id={entry.id} />],
        ]}
      />
      <pre
        tabIndex={0}
        aria-label={text.details}
        className="mt-4 max-h-72 overflow-auto rounded-lg border bg-sunken p-3 font-mono text-xs"
      >
        {JSON.stringify(entry.detail, null, 2)}
      </pre>
    </Dialog>
  );
}
