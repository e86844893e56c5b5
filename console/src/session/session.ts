/**
 * Who is signed in. The access token lives in this module's memory and nowhere
 * else; the refresh token is a cookie that scripts cannot read.
 */

import type { Schemas } from '@/api/client';
import { toError, UnreachableError } from '@/api/problem';
import { hear, now } from './clock';
import { createStore } from './store';

interface Tokens {
  access_token: string;
  access_expires_at: string;
  session_id: string;
  user_id: string;
}

export type Standing =
  /** Not known yet: the page was just opened. */
  | 'unknown'
  | 'in'
  | 'out'
  /** It ended while somebody was at work: what they typed must not be lost. */
  | 'ended';

export const standing = createStore<Standing>('unknown');

let tokens: Tokens | undefined;
let refreshing: Promise<string | undefined> | undefined;
/** Whose answers the page remembers. */
let lastUser: string | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Tells the other tabs of this browser, which share the cookie. */
const tabs = new BroadcastChannel('gpuaas.session');

/** Calls back when another tab has a session. */
export function whenAnotherTabSignsIn(listener: () => void): () => void {
  tabs.addEventListener('message', listener);
  return () => tabs.removeEventListener('message', listener);
}

// bound: renewed this long before its end, so that no request meets it
const BEFORE_END_MS = 45_000;
// bound: the longest wait that a timer can hold
const LONGEST_TIMER_MS = 2_147_000_000;

function keep(next: Tokens): string {
  // Somebody else signed in over a page that was another's: nothing of it may stay.
  if (lastUser && lastUser !== next.user_id) location.assign('/');
  lastUser = next.user_id;
  tokens = next;
  clearTimeout(timer);
  const left = Date.parse(next.access_expires_at) - now() - BEFORE_END_MS;
  // Who is away now is asked again by the next request.
  const renew = () => void refresh().catch(() => undefined);
  timer = setTimeout(renew, Math.min(Math.max(left, 1_000), LONGEST_TIMER_MS));
  standing.set('in');
  return next.access_token;
}

function drop(next: Standing): void {
  tokens = undefined;
  clearTimeout(timer);
  standing.set(next);
}

async function send(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, { ...init, credentials: 'same-origin', cache: 'no-store' });
  } catch (cause) {
    throw new UnreachableError(cause);
  }
  hear(response.headers.get('date'));
  return response;
}

async function open(path: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const response = await send(path, { method: 'POST', headers, body: JSON.stringify(body) });
  const answer: unknown = await response.json().catch(() => undefined);
  if (!response.ok) throw toError(answer, response);
  keep(answer as Tokens);
  tabs.postMessage('signed in');
}

export function signIn(email: string, password: string): Promise<void> {
  return open('/console/session', { email, password });
}

export function finishOidc(code: string, state: string): Promise<void> {
  return open('/console/session/oidc', { code, state });
}

/** Answers the challenge of a sign-in. */
export function finishMfa(answer: Schemas['MfaAnswer']): Promise<void> {
  return open('/console/session/mfa', answer);
}

/** Tabs share the cookie, and a refresh token works once: one tab at a time. */
async function inTurn(work: () => Promise<string | undefined>): Promise<string | undefined> {
  // Missing where a page came without TLS; the server's grace covers what is left.
  if (!('locks' in navigator)) return work();
  return navigator.locks.request('gpuaas.refresh', work);
}

/** A new access token; `undefined` when nobody is signed in. */
export function refresh(): Promise<string | undefined> {
  refreshing ??= inTurn(async () => {
    const response = await send('/console/session/refresh', { method: 'POST' });
    if (response.status === 401 || response.status === 403) {
      drop(standing.get() === 'in' || standing.get() === 'ended' ? 'ended' : 'out');
      return undefined;
    }
    const answer: unknown = await response.json().catch(() => undefined);
    if (!response.ok) throw toError(answer, response);
    return keep(answer as Tokens);
  }).finally(() => {
    refreshing = undefined;
  });
  return refreshing;
}

/** The token to send, renewed first when it is about to end. */
export async function accessToken(): Promise<string | undefined> {
  if (tokens && Date.parse(tokens.access_expires_at) - now() > 5_000) return tokens.access_token;
  // What ended is begun again by its owner, not by a request.
  if (standing.get() === 'out' || standing.get() === 'ended') return undefined;
  return refresh();
}

export function sessionId(): string | undefined {
  return tokens?.session_id;
}

export async function signOut(): Promise<void> {
  if (tokens) {
    const { access_token, session_id } = tokens;
    const headers = { authorization: `Bearer ${access_token}` };
    await send(`/console/session/${session_id}`, { method: 'DELETE', headers });
  }
  drop('out');
}
