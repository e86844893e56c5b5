import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { allOrganizationsQuery } from '@/api/platform';
import { common, platform } from '@/strings';
import { State } from '@/ui/Badge';
import { List } from '@/ui/List';
import { Page } from '@/ui/Page';
import { Id, Time } from '@/ui/Values';

const text = platform.organizations;

export function Organizations() {
  const [typed, setTyped] = useState('');
  const [name, setName] = useState<string>();
  const query = useInfiniteQuery(allOrganizationsQuery(name));
  return (
    <Page title={text.title} lead={text.lead}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setName(typed.trim() || undefined);
        }}
      >
        <input
          type="search"
          aria-label={text.search}
          placeholder={text.search}
          className="field max-w-72"
          value={typed}
          onChange={(event) => {
            setTyped(event.target.value);
            if (event.target.value === '') setName(undefined);
          }}
        />
      </form>
      <List
        query={query}
        empty={text.none}
        label={text.title}
        keyOf={(it) => it.id}
        columns={[
          {
            name: common.name,
            cell: (it) => (
              <Link
                to="/platform/organizations/$organization"
                params={{ organization: it.id }}
                className="font-medium hover:text-accent-ink hover:underline"
              >
                {it.name}
              </Link>
            ),
          },
          { name: common.state, cell: (it) => <State state={it.state} /> },
          { name: common.id, wide: true, cell: (it) => <Id id={it.id} /> },
          { name: common.created, wide: true, cell: (it) => <Time at={it.created_at} /> },
        ]}
      />
    </Page>
  );
}
