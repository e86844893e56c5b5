import { expect, test } from 'vitest';
import { costMicros, money, parseMoney } from './money';

test('amounts are shown with their currency', () => {
  expect(money(3_500_000, 'USD', 'en')).toBe('$3.50 USD');
  expect(money(-12_500_000, 'EUR', 'en')).toBe('-€12.50');
  expect(money(1_000_000, 'CHF', 'en')).toContain('CHF');
});

test('amounts below the smallest coin retain their digits', () => {
  expect(money(1_500, 'USD', 'en')).toBe('$0.0015 USD');
  expect(money(0, 'USD', 'en')).toBe('$0.00 USD');
});

test('amounts in an unknown currency are shown', () => {
  expect(money(1_000_000, 'nonsense', 'en')).toBe('1.00 nonsense');
});

test('typed amounts are parsed exactly', () => {
  expect(parseMoney('12.50')).toBe(12_500_000);
  expect(parseMoney('1,000')).toBe(1_000_000_000);
  expect(parseMoney('-0.000001')).toBe(-1);
  for (const bad of ['', 'ten', '1.2.3', '0.0000001', '1e9']) expect(parseMoney(bad)).toBeUndefined();
});

test('cost follows price, GPUs and time, rounded up', () => {
  expect(costMicros(3_500_000, 2, 3600)).toBe(7_000_000);
  expect(costMicros(1, 1, 1)).toBe(1);
});
