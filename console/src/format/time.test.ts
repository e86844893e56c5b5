import { expect, test } from 'vitest';
import { ago, duration, utc } from './time';

test('durations have at most two parts', () => {
  expect(duration(5)).toBe('5 s');
  expect(duration(65)).toBe('1 min 5 s');
  expect(duration(7500)).toBe('2 h 5 min');
  expect(duration(90_000)).toBe('1 d 1 h');
  expect(duration(86_400)).toBe('1 d');
  expect(duration(-3)).toBe('0 s');
});

test('ages use the largest unit that fits', () => {
  const at = Date.parse('2026-11-15T12:00:00Z');
  expect(ago('2026-11-15T11:57:00Z', at, 'en')).toBe('3 minutes ago');
  expect(ago('2026-11-17T12:00:00Z', at, 'en')).toBe('in 2 days');
  expect(ago('2026-11-14T00:00:00Z', at, 'en')).toBe('yesterday');
  expect(ago('2026-11-15T12:00:00Z', at, 'en')).toBe('now');
});

test('future times are precise when near, and never rounded down', () => {
  const at = Date.parse('2026-11-15T12:00:00Z');
  expect(ago('2026-11-15T12:00:40Z', at, 'en')).toBe('in 40 s');
  expect(ago('2026-11-15T15:59:30Z', at, 'en')).toBe('in 3 h 59 min');
  expect(ago('2026-11-22T11:59:30Z', at, 'en')).toBe('in 7 days');
});

test('UTC times are written out', () => {
  expect(utc('2026-11-15T12:00:00.123Z')).toBe('2026-11-15 12:00:00 UTC');
});
