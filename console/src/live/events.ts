/**
 * The one live connection: events of the organization that is looked at and the
 * reader's own notifications, on the pages of operators those of the whole
 * platform. It says which answers are old; nothing is asked for again and again.
 */

import type { QueryClient } from '@tanstack/react-query';
import { accessToken, standing } from '@/session/session';
import { createStore } from '@/session/store';
import { keepFleet, refreshFleet } from './fleet';
import { staleAfter } from './nouns';

export type Liveness = 'connecting' | 'live' | 'lost';
export const liveness = createStore<Liveness>('connecting');

interface Frame {
  type: 'ready' | 'event' | 'notification' | 'read' | 'gap' | 'pong' | 'closing';
  event?: { id: string; subject: string; resource: string | null };
}

// bound: events come in bursts; answers are asked for once for all of them
const GATHER_MS = 120;
// bound: the whole platform tells of much; its lists are read anew at most so often
const PLATFORM_PACE_MS = 3_000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 20_000;

/** Whose events are followed: an organization's, everybody's, or only what the reader is told. */
export type Followed = { organization: string } | 'platform' | 'me';

/** Something else was followed before: what it did not tell of may be old. */
let hasFollowed = false;

/** Follows events until it is told to stop. */
export function follow(whose: Followed, queries: QueryClient): () => void {
  let socket: WebSocket | undefined;
  let stopped = false;
  let wait = FIRST_WAIT_MS;
  let wasLive = hasFollowed;
  let newest: string | undefined;
  let again: ReturnType<typeof setTimeout> | undefined;
  let gather: ReturnType<typeof setTimeout> | undefined;
  let flushedAt = 0;
  const stale = new Set<string>();

  const flush = () => {
    gather = undefined;
    flushedAt = performance.now();
    const nouns = new Set(stale);
    stale.clear();
    void queries.invalidateQueries({ predicate: (query) => nouns.has(String(query.queryKey[0])) });
  };

  const old = (nouns: readonly string[]) => {
    nouns.forEach((noun) => stale.add(noun));
    const pace = whose === 'platform' ? flushedAt + PLATFORM_PACE_MS - performance.now() : 0;
    gather ??= setTimeout(flush, Math.max(GATHER_MS, pace));
  };

  const everythingIsOld = () => {
    void queries.invalidateQueries();
    refreshFleet();
  };

  const hear = (frame: Frame) => {
    if (frame.type === 'ready') {
      liveness.set('live');
      wait = FIRST_WAIT_MS;
      // What was missed comes after the newest event that was heard; without one it is not told.
      if (wasLive && !newest) everythingIsOld();
      wasLive = true;
      hasFollowed = true;
    } else if (frame.type === 'gap') {
      everythingIsOld();
    } else if (frame.type === 'event' && frame.event) {
      newest = frame.event.id;
      const nouns = staleAfter(frame.event.subject);
      old(nouns);
      if (nouns.includes('node')) keepFleet();
    } else if (frame.type === 'notification' || frame.type === 'read') {
      old(['notification']);
    }
  };

  const connect = async () => {
    const token = await accessToken().catch(() => undefined);
    if (stopped) return;
    if (!token) return retry();
    const address = new URL(watched(whose), location.href);
    if (newest) address.searchParams.set('after', newest);
    address.protocol = address.protocol.replace('http', 'ws');
    // A header cannot be sent along and an address is logged: the token is offered as a protocol.
    socket = new WebSocket(address, ['gpuaas.v1', `bearer.${token}`]);
    socket.onmessage = (message) => hear(JSON.parse(String(message.data)) as Frame);
    socket.onclose = retry;
  };

  const retry = () => {
    socket = undefined;
    if (stopped || again) return;
    liveness.set('lost');
    const pause = wait * (0.75 + Math.random() / 2);
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
    again = setTimeout(() => {
      again = undefined;
      void connect();
    }, pause);
  };

  const comeBack = () => {
    if (standing.get() !== 'in' || !again) return;
    clearTimeout(again);
    again = undefined;
    wait = FIRST_WAIT_MS;
    void connect();
  };

  window.addEventListener('online', comeBack);
  const unsubscribe = standing.subscribe(comeBack);
  liveness.set('connecting');
  void connect();
  return () => {
    stopped = true;
    clearTimeout(again);
    clearTimeout(gather);
    window.removeEventListener('online', comeBack);
    unsubscribe();
    socket?.close();
  };
}

function watched(whose: Followed): string {
  if (whose === 'platform') return `/v1/platform/events/watch`;
  if (whose === 'me') return `/v1/me/notifications/watch`;
  return `/v1/organizations/${whose.organization}/events/watch`;
}
