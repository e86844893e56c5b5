import { expect, test } from 'vitest';
import { costAt } from './cost';

const cost = {
  at: '2026-11-16T00:00:00Z',
  amount_micros: 5,
  burn_micros_per_hour: 7_000_000,
  active_seconds: 9,
};
const at = Date.parse(cost.at);

test('cost of an active allocation grows at its rate', () => {
  expect(costAt(cost, at + 3_600_000)).toEqual({ amountMicros: 7_000_005, activeSeconds: 3609 });
  expect(costAt(cost, at + 1)).toEqual({ amountMicros: 6, activeSeconds: 9.001 });
});

test('cost of an inactive allocation is fixed, and a late clock does not lower it', () => {
  expect(costAt({ ...cost, burn_micros_per_hour: 0 }, at + 3_600_000).amountMicros).toBe(5);
  expect(costAt(cost, at - 60_000)).toEqual({ amountMicros: 5, activeSeconds: 9 });
});
