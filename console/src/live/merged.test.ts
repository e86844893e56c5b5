import { expect, test } from 'vitest';
import type { Node } from '@/api/platform';
import { merged } from './merged';

const node = (id: string, pool_id: string, name: string, gpus_free = 8): Node => ({
  id,
  name,
  pool_id,
  region_id: 'region-1',
  provider: 'sim',
  created_at: '',
  version: 1,
  gpus: 8,
  gpus_free,
  state: 'ready',
  health: 'ok',
});

test('nodes stand by pool and name, whatever the order they come in', () => {
  const all = merged([], [node('3', 'b', 'x'), node('1', 'a', 'z'), node('2', 'a', 'y')]);
  expect(all.map((it) => it.id)).toEqual(['2', '1', '3']);
});

test('what changed takes its place, and the rest stays the same object', () => {
  const before = merged([], [node('1', 'a', 'x'), node('2', 'a', 'y')]);
  const after = merged(before, [node('2', 'a', 'y', 3)]);
  expect(after[0]).toBe(before[0]);
  expect(after[1]?.gpus_free).toBe(3);
});

test('what is told again and did not change is the same object', () => {
  const before = merged([], [node('1', 'a', 'x')]);
  expect(merged(before, [node('1', 'a', 'x')])[0]).toBe(before[0]);
});

test('a node that is new comes in order', () => {
  const before = merged([], [node('1', 'a', 'x'), node('3', 'b', 'x')]);
  expect(merged(before, [node('2', 'a', 'y')]).map((it) => it.id)).toEqual(['1', '2', '3']);
});
