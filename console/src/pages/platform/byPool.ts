/** Which agents a pool runs. */

import type { Node } from '@/api/platform';

export interface PoolAgents {
  pool: string;
  /** Versions and how many nodes run each, the commonest first. */
  versions: [string, number][];
  updating: number;
  failing: number;
}

const UPDATING = ['waiting', 'updating'];
const FAILED = ['failed', 'rolled_back'];

export function byPool(nodes: readonly Node[]): PoolAgents[] {
  const pools = new Map<string, { versions: Map<string, number>; updating: number; failing: number }>();
  for (const node of nodes) {
    const pool = pools.get(node.pool_id) ?? { versions: new Map(), updating: 0, failing: 0 };
    pools.set(node.pool_id, pool);
    const version = node.agent_version ?? '–';
    pool.versions.set(version, (pool.versions.get(version) ?? 0) + 1);
    if (UPDATING.includes(node.agent_update ?? '')) pool.updating += 1;
    if (FAILED.includes(node.agent_update ?? '')) pool.failing += 1;
  }
  return [...pools].map(([pool, it]) => ({
    pool,
    versions: [...it.versions].sort((a, b) => b[1] - a[1]),
    updating: it.updating,
    failing: it.failing,
  }));
}
