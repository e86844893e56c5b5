import { useQuery } from '@tanstack/react-query';
import { type Allocation, historyQuery } from '@/api/compute';
import { words } from '@/format/size';
import { allocations as text } from '@/strings';
import { State } from '@/ui/Badge';
import { List } from '@/ui/List';
import { Time } from '@/ui/Values';

export function History({ allocation }: { allocation: Allocation }) {
  const history = useQuery(historyQuery(allocation.organization_id, allocation.id));
  return (
    <List
      title={text.history}
      query={{ ...history, data: history.data?.items }}
      empty={text.historyEmpty}
      rows={(items) => (
        <ol className="divide-y">
          {items.map((event) => {
            const { to, reason } = (event.data ?? {}) as { to?: string; reason?: string };
            const state = to ?? (event.subject === 'allocation.created' ? 'requested' : undefined);
            return (
              <li key={event.id} className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2.5">
                <span className="w-32 shrink-0">{state ? <State state={state} /> : null}</span>
                <span className="min-w-0 grow">
                  {words(event.subject.split('.')[1] ?? event.subject)}
                  {reason && <span className="block text-sm text-faint">{reason}</span>}
                </span>
                <span className="text-sm text-faint">
                  <Time at={event.at} as="exact" />
                </span>
              </li>
            );
          })}
        </ol>
      )}
    />
  );
}
