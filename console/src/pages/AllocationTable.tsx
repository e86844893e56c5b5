import { Link } from '@tanstack/react-router';
import type { Allocation, Project } from '@/api/compute';
import { allocations as text, common } from '@/strings';
import { State } from '@/ui/Badge';
import { Table } from '@/ui/Table';
import { Time } from '@/ui/Values';

export function AllocationTable({
  items,
  projects,
}: {
  items: readonly Allocation[];
  projects: readonly Project[];
}) {
  const projectName = (id: string) => projects.find((it) => it.id === id)?.name ?? id;
  return (
    <Table
      label={text.title}
      items={items}
      keyOf={(it) => it.id}
      columns={[
        {
          name: text.name,
          cell: (it) => (
            <Link
              to="/o/$org/allocations/$project/$allocation"
              params={{ org: it.organization_id, project: it.project_id, allocation: it.id }}
              className="font-medium hover:text-accent-ink hover:underline"
            >
              {it.name ?? <span className="font-mono text-xs">{it.id.slice(-8)}</span>}
              <span className="block text-sm font-normal text-faint md:hidden">
                {it.nodes > 1 ? `${it.nodes} × ` : ''}
                {it.gpus} × {it.sku}
              </span>
            </Link>
          ),
        },
        { name: common.state, cell: (it) => <State state={it.state} /> },
        {
          name: text.hardware,
          wide: true,
          cell: (it) => <span className="whitespace-nowrap">{it.sku}</span>,
        },
        {
          name: text.gpus,
          end: true,
          wide: true,
          cell: (it) => (it.nodes > 1 ? `${it.nodes} × ${it.gpus}` : it.gpus),
        },
        { name: common.project, wide: true, cell: (it) => projectName(it.project_id) },
        { name: text.lease, wide: true, cell: (it) => <Time at={it.lease_ends_at} /> },
        { name: text.age, wide: true, end: true, cell: (it) => <Time at={it.state_since} /> },
      ]}
    />
  );
}
