/** The API as typed calls. Tokens, repeated requests and problems are seen to here. */

import createClient from 'openapi-fetch';
import { authorized } from '@/session/authorized';
import type { components, paths } from './generated/schema';
import { toError } from './problem';

export type Schemas = components['schemas'];

export const api = createClient<paths>({ fetch: authorized });

/** The answer itself, or a problem thrown. */
export async function ask<T>(call: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await call;
  if (error !== undefined || !response.ok) throw toError(error, response);
  return data as T;
}

/** A name for one effect: a request that is repeated with it happens once. */
export function once(): { 'Idempotency-Key': string } {
  // `crypto.randomUUID` is missing where a page came without TLS.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return { 'Idempotency-Key': Array.from(bytes, (it) => it.toString(16).padStart(2, '0')).join('') };
}

export interface Page<T> {
  items: T[];
  next_cursor?: string | null;
}

// bound: what one page shows of a list that is not paged for people
const MOST_PAGES = 20;

/** Every page of a list that is known to be short, such as projects or SKUs. */
export async function all<T>(read: (cursor: string | undefined) => Promise<Page<T>>): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const next = await read(cursor);
    items.push(...next.items);
    cursor = next.next_cursor ?? undefined;
    if (!cursor) break;
  }
  return items;
}
