/** Whether the API answers. */

import { createStore } from './store';

export const reach = createStore<'here' | 'away'>('here');

/** Asks for something small, to see whether anybody answers. */
export function isThere(): Promise<boolean> {
  return fetch('/favicon.svg', { method: 'HEAD', cache: 'no-store' }).then(
    () => true,
    () => false,
  );
}
