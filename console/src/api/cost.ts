/** What an allocation comes to after the moment at which its cost was counted. */

import type { Schemas } from './client';

type Counted = Pick<
  Schemas['AllocationCost'],
  'at' | 'amount_micros' | 'burn_micros_per_hour' | 'active_seconds'
>;

/** As the books count: a rate for a time, cut to whole millionths. Nothing when it does not run. */
export function costAt(cost: Counted, atMs: number): { amountMicros: number; activeSeconds: number } {
  const elapsedMs = cost.burn_micros_per_hour > 0 ? Math.max(0, atMs - Date.parse(cost.at)) : 0;
  return {
    amountMicros: cost.amount_micros + Math.floor((cost.burn_micros_per_hour * elapsedMs) / 3_600_000),
    activeSeconds: cost.active_seconds + elapsedMs / 1000,
  };
}
