import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import {
  type AllocationState,
  LIVE,
  newestAllocationsQuery,
  projectAllocationsQuery,
  projectsQuery,
} from '@/api/compute';
import { useMay, useOrg } from '@/shell/organization';
import { allocations as text, common, overview } from '@/strings';
import { buttonLook } from '@/ui/Button';
import { Icon } from '@/ui/Icon';
import { List } from '@/ui/List';
import { Page } from '@/ui/Page';
import { AllocationTable } from './AllocationTable';

interface Filters {
  project?: string;
  state?: AllocationState;
  name?: string;
}

export function Allocations() {
  const org = useOrg();
  const may = useMay('use');
  const navigate = useNavigate();
  const filters = useSearch({ strict: false }) as Filters;
  const [name, setName] = useState(filters.name ?? '');
  const projects = useQuery(projectsQuery(org));
  const set = (change: Filters) => {
    const search = Object.fromEntries(Object.entries({ ...filters, ...change }).filter(([, value]) => value));
    void navigate({ to: '/o/$org/allocations', params: { org }, search: search as never, replace: true });
  };
  const filter = { state: filters.state, name: filters.name };
  return (
    <Page
      title={text.title}
      lead={text.lead}
      actions={
        may && (
          <Link to="/o/$org/launch" params={{ org }} className={buttonLook('primary')}>
            <Icon name="plus" size={16} />
            {overview.launch}
          </Link>
        )
      }
    >
      <form
        className="flex flex-wrap gap-2"
        onSubmit={(event) => {
          event.preventDefault();
          set({ name: name.trim() });
        }}
      >
        <select
          aria-label={common.project}
          className="field w-auto! min-w-40"
          value={filters.project ?? ''}
          onChange={(event) => set({ project: event.target.value })}
        >
          <option value="">{text.allProjects}</option>
          {(projects.data ?? []).map((it) => (
            <option key={it.id} value={it.id}>
              {it.name}
            </option>
          ))}
        </select>
        <select
          aria-label={common.state}
          className="field w-auto! min-w-36"
          value={filters.state ?? ''}
          onChange={(event) => set({ state: event.target.value as AllocationState })}
        >
          <option value="">{text.anyState}</option>
          {[...LIVE, 'released' as const, 'failed' as const].map((it) => (
            <option key={it} value={it}>
              {text.stage[it]}
            </option>
          ))}
        </select>
        <input
          type="search"
          aria-label={text.search}
          placeholder={text.search}
          className="field w-auto! min-w-40 grow sm:max-w-60"
          value={name}
          onChange={(event) => {
            setName(event.target.value);
            if (event.target.value === '') set({ name: '' });
          }}
        />
      </form>
      {filters.project ? (
        <OfProject project={filters.project} filter={filter} org={org} />
      ) : (
        <OfAll org={org} filter={filter} />
      )}
    </Page>
  );
}

interface ListProps {
  org: string;
  filter: { state?: AllocationState | undefined; name?: string | undefined };
}

const NONE = {
  icon: 'allocations',
  title: text.emptyTitle,
  lead: text.emptyLead,
  command: overview.noneCommand,
} as const;

function OfAll({ org, filter }: ListProps) {
  const projects = useQuery(projectsQuery(org));
  const query = useQuery(newestAllocationsQuery(org, projects.data, filter));
  return (
    <List
      query={{ ...query, data: query.data?.items }}
      lines={6}
      empty={NONE}
      rows={(items) => <AllocationTable items={items} projects={projects.data ?? []} />}
      after={query.data?.isCut && <p className="border-t px-4 py-3 text-sm text-faint">{text.cut}</p>}
    />
  );
}

function OfProject({ org, project, filter }: ListProps & { project: string }) {
  const projects = useQuery(projectsQuery(org));
  const query = useInfiniteQuery(projectAllocationsQuery(project, filter));
  return (
    <List
      query={query}
      lines={6}
      empty={NONE}
      rows={(items) => <AllocationTable items={items} projects={projects.data ?? []} />}
    />
  );
}
