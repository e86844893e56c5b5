import { expect, test } from 'vitest';
import type { Node } from '@/api/platform';
import { byPool } from './byPool';

const node = (id: string, agent_version: string, agent_update?: string): Node => ({
  id,
  name: id,
  pool_id: 'pool-1',
  region_id: 'region-1',
  provider: 'sim',
  created_at: '',
  version: 1,
  gpus: 8,
  gpus_free: 8,
  state: 'ready',
  health: 'ok',
  agent_version,
  ...(agent_update ? { agent_update } : {}),
});

test('pool summary counts versions, running updates and failures', () => {
  const nodes = [
    node('a', '0.1.0', 'waiting'),
    node('b', '0.2.0', 'updated'),
    node('c', '0.1.0', 'rolled_back'),
  ];
  expect(byPool(nodes)).toEqual([
    {
      pool: 'pool-1',
      versions: [
        ['0.1.0', 2],
        ['0.2.0', 1],
      ],
      updating: 1,
      failing: 1,
    },
  ]);
});
