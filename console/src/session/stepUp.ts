/** A request that needs the second factor again waits here until a dialog has asked for it. */

import { createStore } from './store';

interface Waiting {
  /** Says whether it was confirmed. */
  done: (isConfirmed: boolean) => void;
}

export const waiting = createStore<Waiting | undefined>(undefined);

let asked: Promise<boolean> | undefined;

/** Requests that wait at once share one dialog. */
export function stepUp(): Promise<boolean> {
  asked ??= new Promise<boolean>((resolve) => {
    waiting.set({
      done: (isConfirmed) => {
        asked = undefined;
        waiting.set(undefined);
        resolve(isConfirmed);
      },
    });
  });
  return asked;
}

export async function asksForStepUp(response: Response): Promise<boolean> {
  if (response.status !== 403) return false;
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined);
  return typeof body === 'object' && body !== null && 'code' in body && body.code === 'step_up_required';
}
