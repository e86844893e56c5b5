import { expect, test } from 'vitest';
import { priceUnit, quantityOf } from './units';

test('quantities over time are in hours', () => {
  expect(quantityOf({ unit: 'gpu_hour', consumed: 7_200_000_000 })).toBe('2 GPU-hours');
  expect(quantityOf({ unit: 'gib_hour', consumed: 3_600_000_000 })).toBe('1 GiB-hour');
  expect(quantityOf({ unit: 'hour', consumed: 900_000_000 })).toBe('0.25 hours');
});

test('counted quantities are plain numbers', () => {
  expect(quantityOf({ unit: 'token', consumed: 1_234_567 })).toBe('1,234,567 tokens');
  expect(quantityOf({ unit: 'job', consumed: 1 })).toBe('1 job');
});

test('prices are per unit or per many', () => {
  expect(priceUnit({ unit: 'gpu_hour', per_units: 1 })).toBe('GPU-hour');
  expect(priceUnit({ unit: 'token', per_units: 1_000_000 })).toBe('1,000,000 tokens');
});

test('a unit of a newer server is shown by its name', () => {
  expect(quantityOf({ unit: 'image', consumed: 3 })).toBe('3 image');
});
