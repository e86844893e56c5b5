/** What the end of a connection means: come back by oneself, or tell somebody. */

import type { Closing } from './frames';

/** Why a terminal shows no shell any more; each has its words. */
export type End =
  | 'exit'
  | 'not_understood'
  | 'refused'
  | 'unrecorded'
  | 'gone'
  | 'time_limit'
  | 'idle'
  | 'taken_over'
  | 'ended'
  | 'too_many'
  | 'lost'
  | 'blocked'
  | 'problem';

export type Next =
  | { then: 'over'; end: End }
  /** `patience` is how often it is tried before somebody is told. */
  | { then: 'again'; end: End; patience: number };

// bound: with the longest pause between tries, half an hour
const LONG = 120;
const SHORT = 4;

/** `said` is what the gateway wrote before it closed, if it did. */
export function next(code: number, said: Closing | undefined): Next {
  switch (code) {
    case 1000:
      return { then: 'over', end: 'exit' };
    case 4400:
      return { then: 'over', end: 'not_understood' };
    // A ticket that was too old when it arrived; the next one is new.
    case 4401:
      return { then: 'again', end: 'refused', patience: SHORT };
    case 4403:
      return { then: 'over', end: said === 'unrecorded' ? 'unrecorded' : 'refused' };
    // The host may only be away for a moment; the next ticket tells.
    case 4404:
      return said === 'allocation_ended'
        ? { then: 'over', end: 'gone' }
        : { then: 'again', end: 'gone', patience: SHORT };
    case 4408:
      return { then: 'over', end: said === 'idle' ? 'idle' : 'time_limit' };
    case 4409:
      return { then: 'over', end: 'taken_over' };
    case 4410:
      return { then: 'over', end: 'ended' };
    case 4429:
      return { then: 'over', end: 'too_many' };
    // 4503, 1006 and whatever a proxy between says.
    default:
      return { then: 'again', end: 'lost', patience: LONG };
  }
}

const FIRST_MS = 300;
const LONGEST_MS = 15_000;

/** How long to wait before the given try, counted from nought. */
export function pauseMs(tries: number, chance = Math.random()): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(tries, 10)) * (0.75 + chance / 2);
}
