import { afterEach, expect, test } from 'vitest';
import { hear, now } from './clock';

afterEach(() => hear(new Date(0).toUTCString(), 0));

test('a clock that is wrong by hours is put right by the server', () => {
  hear('Sun, 15 Nov 2026 12:00:00 GMT', Date.parse('2026-11-15T15:00:00Z'));
  expect(new Date(now(Date.parse('2026-11-15T15:00:10Z'))).toISOString()).toBe('2026-11-15T12:00:10.000Z');
});

test('a second of difference is not a difference', () => {
  hear('Sun, 15 Nov 2026 12:00:00 GMT', Date.parse('2026-11-15T12:00:01Z'));
  expect(now(1000)).toBe(1000);
});

test('an answer without a date changes nothing', () => {
  hear(null, 0);
  hear('nonsense', 0);
  expect(now(5)).toBe(5);
});
