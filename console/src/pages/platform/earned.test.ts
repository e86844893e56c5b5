import { expect, test } from 'vitest';
import { bySku, currencies, hours, share } from './earned';

const line = (day: string, sku: string, currency: string, amount_micros: number) => ({
  day,
  sku,
  currency,
  amount_micros,
});

test('SKUs are summed in one currency, largest first', () => {
  const lines = [
    line('2026-11-01', 'a', 'USD', 1),
    line('2026-11-02', 'b', 'USD', 5),
    line('2026-11-02', 'a', 'USD', 2),
    line('2026-11-02', 'a', 'EUR', 9),
  ];
  expect(bySku(lines, 'USD')).toEqual([
    { sku: 'b', amount_micros: 5 },
    { sku: 'a', amount_micros: 3 },
  ]);
  expect(currencies(lines)).toEqual(['USD', 'EUR']);
});

test('hours cover every day', () => {
  const lines = [{ day: '2026-11-02', sold_gpu_seconds: 3600, there_gpu_seconds: 7200 }];
  const found = hours(lines, '2026-11-01T00:00:00Z', 3);
  expect(found.sold).toEqual([0, 1, 0]);
  expect(found.there).toEqual([0, 2, 0]);
});

test('share of zero is no number', () => {
  expect(share(1, 0)).toBe('–');
  expect(share(1, 8)).toBe('12.5%');
});
