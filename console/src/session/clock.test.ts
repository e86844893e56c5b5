import { afterEach, expect, test } from 'vitest';
import { hear, now } from './clock';

afterEach(() => hear(new Date(0).toUTCString(), 0));

test('clock skew of hours is corrected by the server', () => {
  hear('Sun, 15 Nov 2026 12:00:00 GMT', Date.parse('2026-11-15T15:00:00Z'));
  expect(new Date(now(Date.parse('2026-11-15T15:00:10Z'))).toISOString()).toBe('2026-11-15T12:00:10.000Z');
});

test('clock skew of one second is ignored', () => {
  hear('Sun, 15 Nov 2026 12:00:00 GMT', Date.parse('2026-11-15T12:00:01Z'));
  expect(now(1000)).toBe(1000);
});

test('response without a date changes nothing', () => {
  hear(null, 0);
  hear('nonsense', 0);
  expect(now(5)).toBe(5);
});
