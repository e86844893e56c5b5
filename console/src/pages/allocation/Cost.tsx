/** What an allocation cost, from the books. Its rate was fixed when it became active, so that what it comes to each second is known. */

import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '@/api/client';
import type { Allocation } from '@/api/compute';
import { allocationCostQuery } from '@/api/money';
import { costAt } from '@/api/cost';
import { money } from '@/format/money';
import { duration } from '@/format/time';
import { allocations as text } from '@/strings';
import { Stat, Stats } from '@/ui/Card';
import { Failure } from '@/ui/Feedback';
import { Money, Time, useNow } from '@/ui/Values';

type Cost = Schemas['AllocationCost'];

export function useCost(allocation: Allocation) {
  return useQuery(allocationCostQuery(allocation.project_id, allocation.id));
}

/** Apart from the page, because it is drawn anew every second. */
export function CostStats({ allocation }: { allocation: Allocation }) {
  const query = useCost(allocation);
  const cost = query.data;
  const now = useNow(Boolean(cost?.burn_micros_per_hour));
  const isOver = allocation.state === 'released' || allocation.state === 'failed';
  const soFar = cost && costAt(cost, now);
  if (query.error && !cost) return <Failure error={query.error} onRetry={() => void query.refetch()} />;
  return (
    <Stats>
      <Stat
        label={isOver ? text.costOver : text.cost}
        value={cost && soFar ? money(soFar.amountMicros, cost.currency) : '…'}
        detail={cost && <Parts cost={cost} />}
      />
      <Stat
        label={text.rate}
        value={cost ? money(cost.burn_micros_per_hour, cost.currency) : '…'}
        detail={
          cost && (
            <>
              {text.rateNote(allocation.gpus * allocation.nodes)}
              {cost.held_micros > 0 && <> · {text.heldFor(money(cost.held_micros, cost.currency))}</>}
            </>
          )
        }
      />
      <Stat
        label={text.active}
        value={soFar ? duration(soFar.activeSeconds) : '…'}
        detail={<Time at={allocation.active_at} as="local" />}
      />
      <Stat
        label={text.leaseEnds}
        value={allocation.lease_ends_at && !isOver ? <Time at={allocation.lease_ends_at} /> : '–'}
        detail={allocation.lease_ends_at ? <Time at={allocation.lease_ends_at} as="local" /> : text.noLease}
      />
    </Stats>
  );
}

/** What of it is in the books and up to when, and what is not yet. */
function Parts({ cost }: { cost: Cost }) {
  return (
    <>
      <span className="block">
        <Money micros={cost.posted_micros} currency={cost.currency} /> {text.postedTo}{' '}
        <Time at={cost.posted_to} as="local" />
      </span>
      {cost.accrued_micros > 0 && (
        <span className="block">
          <Money micros={cost.accrued_micros} currency={cost.currency} /> {text.accrued}
        </span>
      )}
      {cost.taken_back_micros > 0 && (
        <span className="block">
          <Money micros={cost.taken_back_micros} currency={cost.currency} /> {text.reversed}
        </span>
      )}
    </>
  );
}
