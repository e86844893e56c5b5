import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { accessSessionsQuery } from '@/api/access';
import type { Allocation } from '@/api/compute';
import { flat } from '@/api/lists';
import { whoamiQuery } from '@/api/people';
import { EndSession } from '@/pages/access/EndSession';
import { useWho } from '@/pages/access/names';
import { SessionTable } from '@/pages/access/SessionTable';
import { useMay } from '@/shell/organization';
import { access } from '@/strings';
import { Button } from '@/ui/Button';
import { Card } from '@/ui/Card';

const text = access.sessions;

interface Props {
  allocation: Allocation;
  onResume: (session: string) => void;
}

/** Who is inside this allocation now; nothing is shown while it is nobody. */
export function SessionsCard({ allocation, onResume }: Props) {
  const may = useMay('use');
  const administers = useMay('administer');
  const me = useQuery(whoamiQuery());
  const who = useWho(allocation.organization_id);
  const query = useInfiniteQuery({
    ...accessSessionsQuery(allocation.organization_id, { allocation_id: allocation.id }),
    enabled: may && allocation.active_at !== null && allocation.active_at !== undefined,
  });
  const items = flat(query.data) ?? [];
  if (items.length === 0) return null;
  const isOwn = (user: string | null | undefined) => Boolean(user) && user === me.data?.user?.id;
  return (
    <Card title={text.onAllocation} flush>
      <SessionTable
        label={text.onAllocation}
        items={items}
        who={who}
        actions={(it) => (
          <span className="inline-flex gap-2">
            {it.kind === 'terminal' && !it.watches && (isOwn(it.user_id) || it.is_shared) && (
              <Button small onClick={() => onResume(it.id)}>
                {text.resume}
              </Button>
            )}
            {(administers || isOwn(it.user_id)) && <EndSession session={it} />}
          </span>
        )}
      />
    </Card>
  );
}
