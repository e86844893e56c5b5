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

test('nodes are sorted by pool and name, whatever their order of arrival', () => {
  const all = merged([], [node('3', 'b', 'x'), node('1', 'a', 'z'), node('2', 'a', 'y')]);
  expect(all.map((it) => it.id)).toEqual(['2', '1', '3']);
});

test('nodes that changed are replaced, and the rest stay the same objects', () => {
  const before = merged([], [node('1', 'a', 'x'), node('2', 'a', 'y')]);
  const after = merged(before, [node('2', 'a', 'y', 3)]);
  expect(after[0]).toBe(before[0]);
  expect(after[1]?.gpus_free).toBe(3);
});

test('nodes reported again without a change stay the same objects', () => {
  const before = merged([], [node('1', 'a', 'x')]);
  expect(merged(before, [node('1', 'a', 'x')])[0]).toBe(before[0]);
});

test('nodes that are new are inserted in order', () => {
  const before = merged([], [node('1', 'a', 'x'), node('3', 'b', 'x')]);
  expect(merged(before, [node('2', 'a', 'y')]).map((it) => it.id)).toEqual(['1', '2', '3']);
});
