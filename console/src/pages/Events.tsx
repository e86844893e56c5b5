import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { eventsQuery } from '@/api/compute';
import { useOrg } from '@/shell/organization';
import { common, events as text } from '@/strings';
import { List } from '@/ui/List';
import { Page } from '@/ui/Page';
import { Command } from '@/ui/Values';
import { EventList } from './EventList';

export function Events() {
  const org = useOrg();
  const navigate = useNavigate();
  const { subject } = useSearch({ strict: false }) as { subject?: string };
  const [typed, setTyped] = useState(subject ?? '');
  const query = useInfiniteQuery(eventsQuery(org, subject));
  const apply = (next: string) =>
    void navigate({
      to: '/o/$org/events',
      params: { org },
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
      <List
        query={query}
        lines={8}
        empty={{ icon: 'events', title: text.empty, lead: text.emptyLead, command: text.command }}
        rows={(items) => <EventList org={org} events={items} />}
      />
      <div>
        <p className="mb-1.5 text-sm text-faint">{common.cliHint}</p>
        <Command>{text.command}</Command>
      </div>
    </Page>
  );
}
