import { expect, test } from 'vitest';
import { type Draft, estimate, parseTags, toCommand, toSpec } from './spec';

const draft: Draft = {
  project: 'proj-1',
  sku: 'h200-slice',
  gpus: 2,
  nodes: 1,
  sameFabric: true,
  region: '',
  name: ' notebook ',
  leaseMinutes: 120,
  tags: 'team=vision, run=a=b',
  keys: undefined,
};

test('tags are read, and what is none is refused', () => {
  expect(parseTags('team=vision,\nrun=a=b')).toEqual({ team: 'vision', run: 'a=b' });
  expect(parseTags('')).toEqual({});
  expect(parseTags('team')).toBeUndefined();
  expect(parseTags('=x')).toBeUndefined();
});

test('only what was chosen is asked for', () => {
  expect(toSpec(draft)).toEqual({
    sku: 'h200-slice',
    gpus: 2,
    nodes: 1,
    name: 'notebook',
    lease_minutes: 120,
    tags: { team: 'vision', run: 'a=b' },
  });
});

test('a lease holds its whole cost, and without one policy says how long', () => {
  expect(estimate(draft, 3_500_000, 60)).toEqual({
    perHour: 7_000_000,
    perDay: 168_000_000,
    total: 14_000_000,
    hold: 14_000_000,
  });
  expect(estimate({ ...draft, leaseMinutes: undefined, nodes: 2 }, 3_500_000, 60)).toMatchObject({
    total: undefined,
    hold: 14_000_000,
  });
});

test('the command does the same', () => {
  expect(toCommand({ ...draft, name: "it's" }, 'my team')).toBe(
    "gpuaas allocations create --project 'my team' --sku h200-slice --gpus 2 --name 'it'\\''s' --lease-minutes 120 --tag team=vision --tag run=a=b --wait",
  );
});
