/**
 * The terminals that are open in this browser tab, by allocation. They live outside
 * of the pages that show them: going to another page and coming back, or to full
 * screen, interrupts nothing. Which shells they are is kept for a reload.
 */

import { standing } from '@/session/session';
import { createStore, type Store } from '@/session/store';
import { forgetHere, recallHere, rememberHere } from '@/shell/remember';
import { Link, type Ticket } from './link';
import { createScreen, type Screen } from './xterm';

export interface Tab {
  key: string;
  /** Which of the allocation's hosts; the first when not said. */
  node: string | undefined;
  session: string | undefined;
  screen: Screen;
  link: Link;
}

export interface Sitting {
  tabs: readonly Tab[];
  chosen: string | undefined;
}

export type TicketFor = (asked: { resume?: string; node?: string }) => Promise<Ticket>;

// bound: each costs a connection and some megabytes
export const MOST_TABS = 8;

const sittings = new Map<string, Store<Sitting>>();
let count = 0;

/** The sitting at an allocation, as it was before a reload. */
export function sittingAt(place: string, ticket: TicketFor, label: string): Store<Sitting> {
  let sitting = sittings.get(place);
  if (!sitting) {
    sitting = createStore<Sitting>({ tabs: [], chosen: undefined });
    sittings.set(place, sitting);
    for (const { session, node } of kept(place)) open(place, sitting, ticket, label, { session, node });
  }
  return sitting;
}

interface Wanted {
  session?: string | undefined;
  node?: string | undefined;
  canResume?: boolean;
}

/** Opens a tab: a new shell, or one that waits. */
export function open(
  place: string,
  sitting: Store<Sitting>,
  ticket: TicketFor,
  label: string,
  wanted: Wanted,
): void {
  const { tabs } = sitting.get();
  const known = tabs.find((it) => wanted.session && it.session === wanted.session);
  if (known) return choose(sitting, known.key);
  if (tabs.length >= MOST_TABS) return;
  count += 1;
  const screen = createScreen({ label });
  const { terminal } = screen;
  const { node, canResume = true } = wanted;
  const link = new Link(
    {
      ticket: (resume) => ticket({ ...(resume ? { resume } : {}), ...(node && !resume ? { node } : {}) }),
      size: () => ({ columns: terminal.cols, rows: terminal.rows }),
      show: (bytes, isWhole, shown) => {
        if (isWhole) terminal.reset();
        terminal.write(bytes, shown);
      },
      notice: (words) => terminal.write(`\r\n\x1b[2m[${printable(words)}]\x1b[0m\r\n`),
      named: (session) => {
        tab.session = session;
        if (canResume) keep(place, sitting);
      },
    },
    wanted.session,
    canResume,
  );
  const tab: Tab = { key: String(count), node, session: wanted.session, screen, link };
  const encoder = new TextEncoder();
  terminal.onData((typed) => link.type(encoder.encode(typed)));
  terminal.onBinary((typed) => link.type(Uint8Array.from(typed, (it) => it.charCodeAt(0))));
  terminal.onResize(({ cols, rows }) => link.resize(cols, rows));
  terminal.attachCustomKeyEventHandler((event) => key(event, terminal));
  sitting.set({ tabs: [...tabs, tab], chosen: tab.key });
}

/** Keys that are the page's and not the shell's. */
function key(event: KeyboardEvent, terminal: Screen['terminal']): boolean {
  if (event.type !== 'keydown' || !event.ctrlKey || !event.shiftKey) return true;
  if (event.code === 'KeyX') {
    event.preventDefault();
    event.stopPropagation();
    const panel = terminal.element?.closest('[data-terminal]');
    panel?.querySelector<HTMLElement>('[role=tab][aria-selected=true], [data-way-out]')?.focus();
    return false;
  }
  if (event.code === 'KeyC' && terminal.hasSelection()) {
    event.preventDefault();
    void navigator.clipboard.writeText(terminal.getSelection());
    return false;
  }
  // The browser pastes by itself when the key is left to it.
  return event.code !== 'KeyV';
}

/** What others say is shown as text, not as orders to the terminal. */
function printable(words: string): string {
  return [...words].filter((it) => it >= ' ' && it !== '\x7f' && !(it >= '\x80' && it < '\xa0')).join('');
}

export function choose(sitting: Store<Sitting>, chosen: string): void {
  sitting.set({ ...sitting.get(), chosen });
}

/** Closes a tab and ends its shell. */
export function close(place: string, sitting: Store<Sitting>, tab: Tab): void {
  tab.link.end();
  dispose(tab);
  const { tabs, chosen } = sitting.get();
  const at = tabs.indexOf(tab);
  const left = tabs.filter((it) => it !== tab);
  const next = chosen === tab.key ? (left[Math.min(at, left.length - 1)]?.key ?? undefined) : chosen;
  sitting.set({ tabs: left, chosen: next });
  keep(place, sitting);
}

function dispose(tab: Tab): void {
  tab.link.stop();
  tab.screen.dispose();
}

// Whoever signs out leaves no shell behind on the screen.
standing.subscribe(() => {
  if (standing.get() !== 'out') return;
  for (const [place, sitting] of sittings) {
    sitting.get().tabs.forEach(dispose);
    forgetHere(`terminal.${place}`);
  }
  sittings.clear();
});

function kept(place: string): { session: string; node?: string }[] {
  try {
    const value: unknown = JSON.parse(recallHere(`terminal.${place}`) ?? '[]');
    if (!Array.isArray(value)) return [];
    return value
      .filter((it: unknown): it is { session: string; node?: string } => {
        const session = (it as { session?: unknown } | null)?.session;
        return typeof session === 'string' && session.startsWith('access-');
      })
      .slice(0, MOST_TABS);
  } catch {
    return [];
  }
}

/** Ids alone: without a session of the console they open nothing. */
function keep(place: string, sitting: Store<Sitting>): void {
  const tabs = sitting.get().tabs.flatMap(({ session, node }) => (session ? [{ session, node }] : []));
  if (tabs.length === 0) forgetHere(`terminal.${place}`);
  else rememberHere(`terminal.${place}`, JSON.stringify(tabs));
}
