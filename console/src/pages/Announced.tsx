/** Maintenance that the organization was told of, where it concerns one of its projects. */

import { useQuery } from '@tanstack/react-query';
import { api, ask } from '@/api/client';
import { type Project, projectsQuery } from '@/api/compute';
import { overview } from '@/strings';
import { Icon } from '@/ui/Icon';
import { Time } from '@/ui/Values';

function names(ids: readonly string[], projects: readonly Project[]): string {
  return ids.map((id) => projects.find((it) => it.id === id)?.name ?? id).join(', ');
}

export function Announced({ org }: { org: string }) {
  const projects = useQuery(projectsQuery(org));
  const query = useQuery({
    queryKey: ['maintenance_window', org],
    queryFn: () =>
      ask(
        api.GET('/v1/organizations/{organization_id}/maintenance-windows', {
          params: { path: { organization_id: org }, query: { limit: 20 } },
        }),
      ),
  });
  const coming = (query.data?.items ?? []).filter((it) => it.state === 'planned' || it.state === 'active');
  return coming.map((it) => (
    <p
      key={it.id}
      className="flex flex-wrap items-center gap-x-2 gap-y-1 rounded-lg bg-warn-soft px-4 py-3 text-warn"
    >
      <Icon name="warn" />
      <strong className="font-semibold">
        {overview.maintenance(names(it.project_ids, projects.data ?? []))}
      </strong>
      <span>
        <Time at={it.starts_at} as="local" /> – <Time at={it.ends_at} as="local" />
      </span>
      <span>{it.reason}</span>
    </p>
  ));
}
