import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import type { Schemas } from '@/api/client';
import { flat } from '@/api/lists';
import { platformEventsQuery } from '@/api/platform';
import { words } from '@/format/size';
import { common, operations } from '@/strings';
import { Card } from '@/ui/Card';
import { Answer } from '@/ui/Feedback';
import { Page } from '@/ui/Page';
import { More, Table } from '@/ui/Table';
import { Command, Id, Time } from '@/ui/Values';
import { OrganizationName } from './OrganizationName';

const text = operations.events;

export function PlatformEvents() {
  const navigate = useNavigate();
  const { subject } = useSearch({ strict: false }) as { subject?: string };
  const [typed, setTyped] = useState(subject ?? '');
  const query = useInfiniteQuery(platformEventsQuery(subject ? { subject } : {}));
  const apply = (next: string) =>
    void navigate({
      to: '/platform/events',
      search: (next ? { subject: next } : {}) as never,
      replace: true,
    });
  return (
    <Page title={text.title} lead={text.lead}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          apply(typed.trim());
        }}
      >
        <input
          type="search"
          aria-label={text.filter}
          placeholder={text.filter}
          className="field max-w-80"
          value={typed}
          onChange={(event) => {
            setTyped(event.target.value);
            if (event.target.value === '') apply('');
          }}
        />
      </form>
      <Card flush>
        <Answer query={{ ...query, data: flat(query.data) }} lines={8}>
          {(items) =>
            items.length === 0 ? (
              <p className="p-4 text-faint">{text.empty}</p>
            ) : (
              <>
                <EventTable label={text.title} events={items} />
                <More query={query} />
              </>
            )
          }
        </Answer>
      </Card>
      <div>
        <p className="mb-1.5 text-sm text-faint">{common.cliHint}</p>
        <Command>{text.command}</Command>
      </div>
    </Page>
  );
}

function EventTable({ label, events }: { label: string; events: readonly Schemas['RecordedEvent'][] }) {
  return (
    <Table
      label={label}
      items={events}
      keyOf={(it) => it.id}
      columns={[
        {
          name: operations.payments.event,
          cell: (it) => <span title={it.subject}>{words(it.subject)}</span>,
        },
        {
          name: operations.organization,
          wide: true,
          cell: (it) => <OrganizationName id={it.organization_id} />,
        },
        { name: common.id, wide: true, cell: (it) => (it.resource ? <Id id={it.resource} /> : '–') },
        { name: operations.payments.when, end: true, cell: (it) => <Time at={it.at} /> },
      ]}
    />
  );
}
