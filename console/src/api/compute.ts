/** Queries about what runs and what there is. */

import { queryOptions } from '@tanstack/react-query';
import { all, api, ask, type Schemas } from './client';
import { paged } from './lists';

export type Allocation = Schemas['Allocation'];
export type AllocationState = Schemas['AllocationStateChoice'];
export type Project = Schemas['Project'];
export type Sku = Schemas['Sku'];
export type Price = Schemas['Price'];
export type RecordedEvent = Schemas['RecordedEvent'];

/** States in which an allocation holds something or waits for it. */
export const LIVE: readonly AllocationState[] = [
  'requested',
  'provisioning',
  'active',
  'starting',
  'stopping',
  'stopped',
  'releasing',
  'release_failed',
];

export const projectsQuery = (organization: string) =>
  queryOptions({
    queryKey: ['project', organization],
    queryFn: () =>
      all<Project>((cursor) =>
        ask(
          api.GET('/v1/organizations/{organization_id}/projects', {
            params: {
              path: { organization_id: organization },
              query: { limit: 100, cursor, state: 'active' },
            },
          }),
        ),
      ),
  });

interface Filter {
  state?: AllocationState | undefined;
  name?: string | undefined;
}

function readAllocations(project: string, filter: Filter, limit: number, cursor?: string) {
  return ask(
    api.GET('/v1/projects/{project_id}/allocations', {
      params: { path: { project_id: project }, query: { limit, cursor, ...filter } },
    }),
  );
}

/** What a project holds or waits for now, however much it held before. */
async function currentOf(project: string): Promise<Allocation[]> {
  const newest = await readAllocations(project, {}, 100);
  if (!newest.next_cursor) return newest.items.filter((it) => LIVE.includes(it.state as AllocationState));
  const each = await Promise.all(LIVE.map((state) => readAllocations(project, { state }, 100)));
  return each.flatMap((page) => page.items);
}

function newestFirst(items: Allocation[]): Allocation[] {
  return items.sort((a, b) => b.created_at.localeCompare(a.created_at));
}

// bound: an overview asks about this many projects; lists name one
const PROJECTS_AT_ONCE = 20;

export const currentAllocationsQuery = (organization: string, projects: readonly Project[] | undefined) =>
  queryOptions({
    queryKey: ['allocation', organization, 'current', projects?.map((it) => it.id)],
    enabled: projects !== undefined,
    queryFn: async () => {
      const each = await Promise.all(
        (projects ?? []).slice(0, PROJECTS_AT_ONCE).map((it) => currentOf(it.id)),
      );
      return newestFirst(each.flat());
    },
  });

/** The newest of every project, for a list of all. */
export const newestAllocationsQuery = (
  organization: string,
  projects: readonly Project[] | undefined,
  filter: Filter,
) =>
  queryOptions({
    queryKey: ['allocation', organization, 'newest', projects?.map((it) => it.id), filter],
    enabled: projects !== undefined,
    queryFn: async () => {
      const asked = (projects ?? [])
        .slice(0, PROJECTS_AT_ONCE)
        .map((it) => readAllocations(it.id, filter, 50));
      const pages = await Promise.all(asked);
      return {
        items: newestFirst(pages.flatMap((page) => page.items)),
        isCut: pages.some((page) => Boolean(page.next_cursor)),
      };
    },
  });

export const projectAllocationsQuery = (project: string, filter: Filter) =>
  paged<Allocation>(['allocation', 'of', project, filter], (cursor) =>
    readAllocations(project, filter, 50, cursor),
  );

export const allocationQuery = (project: string, allocation: string) =>
  queryOptions({
    queryKey: ['allocation', 'one', allocation],
    queryFn: () =>
      ask(
        api.GET('/v1/projects/{project_id}/allocations/{allocation_id}', {
          params: { path: { project_id: project, allocation_id: allocation } },
        }),
      ),
  });

export const whyQuery = (project: string, allocation: string) =>
  queryOptions({
    queryKey: ['allocation', 'why', allocation],
    queryFn: () =>
      ask(
        api.GET('/v1/projects/{project_id}/allocations/{allocation_id}/why', {
          params: { path: { project_id: project, allocation_id: allocation } },
        }),
      ),
  });

export type Span = 'hour' | 'day' | 'week';
const SPANS: Record<Span, { seconds: number; resolution: Schemas['ResolutionChoice'] }> = {
  hour: { seconds: 3600, resolution: 'raw' },
  day: { seconds: 86_400, resolution: 'minute' },
  week: { seconds: 7 * 86_400, resolution: 'hour' },
};

export const telemetryQuery = (project: string, allocation: string, span: Span, atMs: () => number) =>
  queryOptions({
    queryKey: ['telemetry', allocation, span],
    queryFn: () => {
      const { seconds, resolution } = SPANS[span];
      const since = new Date(atMs() - seconds * 1000).toISOString();
      return ask(
        api.GET('/v1/projects/{project_id}/allocations/{allocation_id}/telemetry', {
          params: { path: { project_id: project, allocation_id: allocation }, query: { since, resolution } },
        }),
      );
    },
  });

/** Everything that happened to one thing, newest first. */
export const historyQuery = (organization: string, resource: string) =>
  queryOptions({
    queryKey: ['event', organization, 'of', resource],
    queryFn: () =>
      ask(
        api.GET('/v1/organizations/{organization_id}/events', {
          params: { path: { organization_id: organization }, query: { resource, limit: 100 } },
        }),
      ),
  });

export const eventsQuery = (organization: string, subject?: string) =>
  paged<RecordedEvent>(['event', organization, subject ?? ''], (cursor) =>
    ask(
      api.GET('/v1/organizations/{organization_id}/events', {
        params: { path: { organization_id: organization }, query: { limit: 50, cursor, subject } },
      }),
    ),
  );

export const recentEventsQuery = (organization: string) =>
  queryOptions({
    queryKey: ['event', organization, 'recent'],
    queryFn: () =>
      ask(
        api.GET('/v1/organizations/{organization_id}/events', {
          params: { path: { organization_id: organization }, query: { limit: 12 } },
        }),
      ),
  });

export const skusQuery = () =>
  queryOptions({
    queryKey: ['sku'],
    queryFn: () =>
      all<Sku>((cursor) => ask(api.GET('/v1/skus', { params: { query: { limit: 100, cursor } } }))),
  });

export const capacityQuery = () =>
  queryOptions({
    queryKey: ['capacity'],
    // Others take it too, and nobody is told of that: it is read anew when it is looked at.
    staleTime: 0,
    queryFn: () =>
      all<Schemas['CapacityLine']>((cursor) =>
        ask(api.GET('/v1/capacity', { params: { query: { limit: 100, cursor } } })),
      ),
  });

export const regionsQuery = () =>
  queryOptions({
    queryKey: ['region'],
    queryFn: () =>
      all<Schemas['Region']>((cursor) =>
        ask(api.GET('/v1/regions', { params: { query: { limit: 100, cursor } } })),
      ),
  });

export const pricesQuery = (sku: string) =>
  queryOptions({
    queryKey: ['price', sku],
    queryFn: () =>
      all<Price>((cursor) =>
        ask(
          api.GET('/v1/skus/{sku_id}/prices', {
            params: { path: { sku_id: sku }, query: { limit: 100, cursor } },
          }),
        ),
      ),
  });

export const projectPoliciesQuery = (project: string) =>
  queryOptions({
    queryKey: ['policy', 'project', project, 'list'],
    queryFn: () =>
      all<Schemas['Policy']>((cursor) =>
        ask(
          api.GET('/v1/projects/{project_id}/policies', {
            params: { path: { project_id: project }, query: { limit: 200, cursor } },
          }),
        ),
      ),
  });

/** One policy with every level, read when it is opened. */
export const projectPolicyQuery = (project: string, key: string) =>
  queryOptions({
    queryKey: ['policy', 'project', project, 'one', key],
    queryFn: () =>
      ask(
        api.GET('/v1/projects/{project_id}/policies/{key}', {
          params: { path: { project_id: project, key } },
        }),
      ),
    // What is changed must be what applies, not what did when it was opened before.
    gcTime: 0,
  });
