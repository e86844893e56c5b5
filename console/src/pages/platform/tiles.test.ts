import { expect, test } from 'vitest';
import type { Node } from '@/api/platform';
import { at, groups, layout, slotGrid, stepFor, sums, taken, toneOfNode } from './tiles';

const node = (state: string, health: string, gpus_free = 8): Node => ({
  id: 'node-1',
  name: 'gpu-01',
  pool_id: 'pool-1',
  region_id: 'region-1',
  provider: 'sim',
  created_at: '',
  version: 1,
  gpus: 8,
  gpus_free,
  state,
  health,
});

test('tiles shrink until a large fleet fits', () => {
  expect(stepFor(4, 1000)).toBe(40);
  const step = stepFor(5000, 1000);
  expect(step).toBeLessThan(12);
  const many = layout(5000, 1000, step);
  expect(many.columns * many.rows).toBeGreaterThanOrEqual(5000);
});

test('point finds its tile, and none past the last one', () => {
  const place = layout(4, 1000, 40);
  expect(at(place, 41, 1, 4)).toBe(1);
  expect(at(place, 500, 1, 4)).toBeUndefined();
  expect(at(place, -1, 1, 4)).toBeUndefined();
});

test('tile color prefers observed health over intended state', () => {
  expect(toneOfNode(node('ready', 'ok'))).toBe('ok');
  expect(toneOfNode(node('ready', 'silent'))).toBe('bad');
  expect(toneOfNode(node('draining', 'ok'))).toBe('warn');
  expect(toneOfNode(node('enrolling', 'unknown'))).toBe('busy');
  expect(toneOfNode(node('retired', 'silent'))).toBe('idle');
});

test('tile fill shows GPUs in use', () => {
  expect(taken(node('ready', 'ok', 2))).toBe(0.75);
});

test('groups are by pool and region', () => {
  const [one, two] = [node('ready', 'ok'), { ...node('ready', 'ok'), pool_id: 'pool-2' }];
  expect(groups([one, one, two]).map((it) => [it.pool, it.nodes.length])).toEqual([
    ['pool-1', 2],
    ['pool-2', 1],
  ]);
});

test('sums count all GPUs, available GPUs and nodes that need attention', () => {
  expect(sums([node('ready', 'ok', 3), node('failed', 'ok', 0)])).toEqual({ gpus: 16, free: 3, bad: 1 });
});

test('slots of a node form a near square', () => {
  expect(slotGrid(8)).toEqual({ columns: 3, rows: 3 });
  expect(slotGrid(4)).toEqual({ columns: 2, rows: 2 });
  expect(slotGrid(0)).toEqual({ columns: 0, rows: 0 });
});
