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

test('tags are parsed, and invalid ones are rejected', () => {
  expect(parseTags('team=vision,\nrun=a=b')).toEqual({ team: 'vision', run: 'a=b' });
  expect(parseTags('')).toEqual({});
  expect(parseTags('team')).toBeUndefined();
  expect(parseTags('=x')).toBeUndefined();
});

test('request holds only what was chosen', () => {
  expect(toSpec(draft)).toEqual({
    sku: 'h200-slice',
    gpus: 2,
    nodes: 1,
    name: 'notebook',
    lease_minutes: 120,
    tags: { team: 'vision', run: 'a=b' },
  });
});

test('hold covers the whole lease, or the minutes of the policy without one', () => {
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

test('command equals the request', () => {
  expect(toCommand({ ...draft, name: "it's" }, 'my team')).toBe(
    "gpuaas allocations create --project 'my team' --sku h200-slice --gpus 2 --name 'it'\\''s' --lease-minutes 120 --tag team=vision --tag run=a=b --wait",
  );
});
