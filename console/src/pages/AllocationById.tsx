/** An allocation by its id alone, as notifications and events name it: what happened first says in which project it is. */

import { useQuery } from '@tanstack/react-query';
import { Navigate, useParams } from '@tanstack/react-router';
import { historyQuery } from '@/api/compute';
import { useOrg } from '@/shell/organization';
import { Answer } from '@/ui/Feedback';
import { NotFound } from './Lost';

export function AllocationById() {
  const org = useOrg();
  const { allocation = '' } = useParams({ strict: false }) as { allocation?: string };
  const history = useQuery(historyQuery(org, allocation));
  return (
    <Answer query={history} lines={8}>
      {({ items }) => {
        const projects = items.map((it) => (it.data as { project_id?: string } | null)?.project_id);
        const project = projects.find(Boolean);
        return project ? (
          <Navigate
            to="/o/$org/allocations/$project/$allocation"
            params={{ org, project, allocation }}
            replace
          />
        ) : (
          <NotFound />
        );
      }}
    </Answer>
  );
}
