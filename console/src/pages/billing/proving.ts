/** A proof of the books, part by part: what was checked, and how it stands. */

import type { Schemas } from '@/api/client';

type Part = Schemas['Proof'];

export interface Proven {
  journals: number;
  entries: number;
  intervals: number;
  difference?: Schemas['Difference'] | undefined;
  /** Where to go on; absent when it came to its end. */
  after?: string | undefined;
}

export const NOTHING: Proven = { journals: 0, entries: 0, intervals: 0 };

// bound: parts of a proof that are asked for at a click
export const MOST_PARTS = 500;

/** Goes on from what is proven; what was found is told after each part. */
export async function prove(
  from: Proven,
  ask: (after: string | undefined) => Promise<Part>,
  tell: (proven: Proven) => void,
  most = MOST_PARTS,
): Promise<void> {
  let proven = from;
  for (let part = 0; part < most; part += 1) {
    const answer = await ask(proven.after);
    if (answer.next_after && answer.next_after === proven.after) {
      throw new Error('the server proves the same part again');
    }
    proven = {
      journals: proven.journals + answer.journals,
      entries: proven.entries + answer.entries,
      intervals: proven.intervals + answer.intervals,
      difference: answer.difference ?? undefined,
      after: answer.difference ? undefined : (answer.next_after ?? undefined),
    };
    tell(proven);
    if (!proven.after) return;
  }
}
