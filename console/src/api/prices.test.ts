import { expect, test } from 'vitest';
import type { Price } from './compute';
import { priceAfter, priceAt } from './prices';

const price = (version: number, effective_at: string, currency = 'USD'): Price => ({
  id: `price-${version}`,
  sku_id: 'sku-1',
  created_at: effective_at,
  unit: 'gpu_hour',
  kind: 'on_demand',
  price_micros: version * 1_000_000,
  per_units: 1,
  version,
  effective_at,
  currency,
});

const prices = [
  price(1, '2026-01-01T00:00:00Z'),
  price(3, '2026-12-01T00:00:00Z'),
  price(2, '2026-06-01T00:00:00Z'),
  price(4, '2026-06-01T00:00:00Z', 'EUR'),
];

test('price in force is the newest effective one', () => {
  const at = Date.parse('2026-11-15T00:00:00Z');
  expect(priceAt(prices, 'USD', at)?.version).toBe(2);
  expect(priceAt(prices, 'EUR', at)?.version).toBe(4);
  expect(priceAt(prices, 'GBP', at)).toBeUndefined();
  expect(priceAt(prices, 'USD', 0)).toBeUndefined();
});

test('price announced for later is known before it applies', () => {
  expect(priceAfter(prices, 'USD', Date.parse('2026-11-15T00:00:00Z'))?.version).toBe(3);
  expect(priceAfter(prices, 'USD', Date.parse('2027-01-01T00:00:00Z'))).toBeUndefined();
});
