/**
 * The fleet as the map shows it: read page by page, and from then on only what
 * changed. Many events are one question, and one new picture.
 */

import { api, ask } from '@/api/client';
import type { Node } from '@/api/platform';
import { createStore } from '@/session/store';
import { merged } from './merged';

export interface Fleet {
  /** By pool and name. What did not change is the same object as before. */
  nodes: readonly Node[];
  isWhole: boolean;
  error?: unknown;
}

const NOTHING: Fleet = { nodes: [], isWhole: false };
export const fleet = createStore<Fleet>(NOTHING);

// bound: a map of more nodes than this would need another map
const MOST_NODES = 20_000;
const PAGE = 200;
// bound: the shortest time between two questions about what changed
const PACE_MS = 500;
// bound: while pages come, the picture grows at most so often
const DRAW_MS = 250;

let watchers = 0;
let mark: string | undefined;
let run = 0;
let pacing: ReturnType<typeof setTimeout> | undefined;
let isAgain = false;

/** Reads the fleet and keeps it up to date until it is told to stop. */
export function watchFleet(): () => void {
  watchers += 1;
  if (watchers === 1) void load();
  return () => {
    watchers -= 1;
    if (watchers === 0) forgetFleet();
  };
}

/** Nothing of one reader's fleet is left for the next. */
function forgetFleet(): void {
  run += 1;
  mark = undefined;
  clearTimeout(pacing);
  pacing = undefined;
  isAgain = false;
  fleet.set(NOTHING);
}

export function refreshFleet(): void {
  if (watchers > 0) void load();
}

/** Something changed: asks what, at most so often. */
export function keepFleet(): void {
  if (watchers === 0) return;
  if (pacing) {
    isAgain = true;
    return;
  }
  pacing = setTimeout(() => {
    pacing = undefined;
    if (!isAgain) return;
    isAgain = false;
    keepFleet();
  }, PACE_MS);
  void readChanges();
}

/** The mark comes first, so that what changes while pages are read is asked for later. */
async function load(): Promise<void> {
  run += 1;
  const mine = run;
  mark = undefined;
  try {
    const start = await ask(api.GET('/v1/platform/node-changes', {}));
    let nodes: readonly Node[] = [];
    let cursor: string | undefined;
    let drawn = -Infinity;
    do {
      const page = await ask(api.GET('/v1/platform/nodes', { params: { query: { limit: PAGE, cursor } } }));
      if (mine !== run) return;
      nodes = merged(nodes, page.items);
      cursor = page.next_cursor ?? undefined;
      // Until all are there again, an older whole picture is better than a part of a new one.
      if (!fleet.get().isWhole && performance.now() - drawn > DRAW_MS) {
        fleet.set({ nodes, isWhole: false });
        drawn = performance.now();
      }
    } while (cursor && nodes.length < MOST_NODES);
    mark = start.mark;
    fleet.set({ nodes, isWhole: true });
  } catch (error) {
    if (mine === run) fleet.set({ ...fleet.get(), error });
  }
}

async function readChanges(): Promise<void> {
  const after = mark;
  const mine = run;
  // Without a mark the pages are still being read.
  if (!after) return;
  try {
    const changes = await ask(api.GET('/v1/platform/node-changes', { params: { query: { after } } }));
    if (mine !== run) return;
    if (changes.is_cut) return load();
    mark = changes.mark;
    if (changes.nodes.length > 0)
      fleet.set({ nodes: merged(fleet.get().nodes, changes.nodes), isWhole: true });
  } catch {
    // The next event asks again; a lost connection reads everything anew.
  }
}
