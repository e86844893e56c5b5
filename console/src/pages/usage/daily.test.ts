import { expect, test } from 'vitest';
import { dailyTotals } from './daily';

test('daily totals cover every day, in one currency', () => {
  const lines = [
    { key: '2026-11-02', amount_micros: 2_000_000, currency: 'USD' },
    { key: '2026-11-02', amount_micros: 9_000_000, currency: 'EUR' },
    { key: '2026-10-01', amount_micros: 9_000_000, currency: 'USD' },
  ];
  const { times, amounts } = dailyTotals(lines, '2026-11-01T00:00:00Z', 3, 'USD');
  expect(times).toHaveLength(3);
  expect(amounts).toEqual([0, 2, 0]);
});
