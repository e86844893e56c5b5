/** Keys that work wherever nothing is typed. */

import { useEffect, useRef } from 'react';

/** After `g`: where each letter leads. */
export const GO: Readonly<Record<string, string>> = {
  o: '/o/$org',
  l: '/o/$org/launch',
  a: '/o/$org/allocations',
  p: '/o/$org/projects',
  e: '/o/$org/events',
  u: '/o/$org/usage',
  b: '/o/$org/billing',
  i: '/o/$org/invoices',
  q: '/o/$org/limits',
  m: '/o/$org/members',
  s: '/o/$org/service-accounts',
  w: '/o/$org/webhooks',
  t: '/o/$org/audit',
  k: '/account/ssh-keys',
  n: '/account/notifications',
  f: '/platform/fleet',
};

export type Meaning = { go: string } | 'palette' | 'help' | 'prefix' | undefined;

interface Pressed {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
}

/** What a key means, after what was pressed before it. */
export function meaning({ key, ctrlKey, metaKey, altKey }: Pressed, isAfterG: boolean): Meaning {
  if ((ctrlKey || metaKey) && key.toLowerCase() === 'k') return 'palette';
  if (ctrlKey || metaKey || altKey) return undefined;
  if (isAfterG) {
    const to = GO[key];
    return to === undefined ? undefined : { go: to };
  }
  if (key === '/') return 'palette';
  if (key === '?') return 'help';
  if (key === 'g') return 'prefix';
  if (key === 'c') return { go: '/o/$org/launch' };
  return undefined;
}

/** Whether what is typed goes somewhere: into a field, a menu, a terminal or a dialog. */
function isTaken(target: EventTarget | null): boolean {
  if (document.querySelector('dialog[open]')) return true;
  return (
    target instanceof Element &&
    target.closest('input, textarea, select, [contenteditable], [role=menu], .xterm') !== null
  );
}

// bound: how long `g` waits for its letter
const AFTER_G_MS = 1_500;

interface Handlers {
  onGo: (to: string) => void;
  onPalette: () => void;
  onHelp: () => void;
}

export function useShortcuts(handlers: Handlers): void {
  const latest = useRef(handlers);
  useEffect(() => {
    latest.current = handlers;
  });
  useEffect(() => {
    let g: ReturnType<typeof setTimeout> | undefined;
    const listen = (event: KeyboardEvent) => {
      const means = meaning(event, g !== undefined);
      clearTimeout(g);
      g = undefined;
      const isCommand = event.ctrlKey || event.metaKey;
      if (means === undefined || (!isCommand && isTaken(event.target))) return;
      event.preventDefault();
      if (means === 'prefix') g = setTimeout(() => (g = undefined), AFTER_G_MS);
      else if (means === 'palette') latest.current.onPalette();
      else if (means === 'help') latest.current.onHelp();
      else latest.current.onGo(means.go);
    };
    window.addEventListener('keydown', listen);
    return () => {
      clearTimeout(g);
      window.removeEventListener('keydown', listen);
    };
  }, []);
}
