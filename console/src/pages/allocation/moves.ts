/** Which states an allocation can go to from each, as docs/generated/lifecycles.md has it. */

import type { AllocationState } from '@/api/compute';

export const MOVES: Readonly<Record<AllocationState, readonly AllocationState[]>> = {
  requested: ['provisioning', 'failed', 'released'],
  provisioning: ['active', 'releasing'],
  active: ['releasing', 'stopping'],
  stopping: ['releasing', 'stopped'],
  stopped: ['releasing', 'starting'],
  starting: ['active', 'releasing', 'stopping'],
  releasing: ['released', 'failed', 'release_failed'],
  release_failed: ['releasing', 'released'],
  released: [],
  failed: [],
};

interface Moved {
  data?: unknown;
}

/** The moves that it made, as `from to`. */
export function movesMade(events: readonly Moved[]): ReadonlySet<string> {
  const made = events
    .map((it) => (it.data ?? {}) as { from?: string; to?: string })
    .filter((it) => it.from && it.to);
  return new Set(made.map((it) => `${it.from} ${it.to}`));
}
