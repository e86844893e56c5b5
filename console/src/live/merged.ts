/** Nodes in the order of the map, and what changed put in its place. */

import type { Node } from '@/api/platform';

const place = (a: Node, b: Node): number => {
  if (a.pool_id !== b.pool_id) return a.pool_id < b.pool_id ? -1 : 1;
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
};

const FIELDS = [
  'state',
  'health',
  'gpus',
  'gpus_free',
  'name',
  'pool_id',
  'version',
  'last_seen_at',
  'agent_version',
] as const;

const isSame = (a: Node, b: Node): boolean => FIELDS.every((field) => a[field] === b[field]);

/** A node that did not change stays the same object, so that nothing is drawn for it. */
export function merged(nodes: readonly Node[], changed: readonly Node[]): Node[] {
  const byId = new Map(changed.map((it) => [it.id, it]));
  const next = nodes.map((old) => {
    const now = byId.get(old.id);
    if (!now) return old;
    byId.delete(old.id);
    return isSame(old, now) ? old : now;
  });
  if (byId.size === 0) return next;
  return [...next, ...byId.values()].sort(place);
}
