/** Times in the reader's zone, ages and lengths in words. */

import { now } from '@/session/clock';

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;

/** A length such as `2 h 5 min`, with at most two parts. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < MINUTE) return `${whole} s`;
  if (whole < HOUR) return parts(whole, MINUTE, 'min', 1, 's');
  if (whole < DAY) return parts(whole, HOUR, 'h', MINUTE, 'min');
  return parts(whole, DAY, 'd', HOUR, 'h');
}

function parts(seconds: number, big: number, bigName: string, small: number, smallName: string): string {
  const first = Math.floor(seconds / big);
  const second = Math.floor((seconds % big) / small);
  return second ? `${first} ${bigName} ${second} ${smallName}` : `${first} ${bigName}`;
}

const WORDS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 365 * DAY],
  ['month', 30 * DAY],
  ['day', DAY],
  ['hour', HOUR],
  ['minute', MINUTE],
  ['second', 1],
];

// bound: what is nearer than this is told with its minutes, as leases are looked at
const NEAR = 2 * DAY;

/** `3 minutes ago`, `in 3 h 59 min`, `in 7 days`, by the server's clock. */
export function ago(at: string, atMs = now(), locale?: string): string {
  const seconds = Math.round((Date.parse(at) - atMs) / 1000);
  if (seconds > 0 && seconds < NEAR) return `in ${duration(seconds)}`;
  const words = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
  const [unit, size] = WORDS.find(([, size]) => Math.abs(seconds) >= size) ?? ['second', 1];
  // What is past is at least so old; what comes is nearest to so far away.
  const whole = seconds < 0 ? Math.trunc(seconds / size) : Math.round(seconds / size);
  return words.format(whole, unit);
}

export function local(at: string, locale?: string): string {
  return new Date(at).toLocaleString(locale, { dateStyle: 'medium', timeStyle: 'short' });
}

/** With seconds, where the order of things matters. */
export function exact(at: string, locale?: string): string {
  return new Date(at).toLocaleString(locale, { dateStyle: 'medium', timeStyle: 'medium' });
}

export function day(at: string, locale?: string): string {
  return new Date(at).toLocaleDateString(locale, { dateStyle: 'medium' });
}

/** What hovering shows: the same moment without a zone to guess. */
export function utc(at: string): string {
  return `${new Date(at).toISOString().replace('T', ' ').slice(0, 19)} UTC`;
}
