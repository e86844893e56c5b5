/** Light or dark: as the reader chose, else as their system says. */

import { createStore } from '@/session/store';
import { recall, remember } from './remember';

export type Theme = 'system' | 'light' | 'dark';

const prefersDark = window.matchMedia('(prefers-color-scheme: dark)');

function kept(): Theme {
  const value = recall('theme');
  return value === 'light' || value === 'dark' ? value : 'system';
}

export const theme = createStore<Theme>(kept());
/** What is really shown; charts draw themselves again when it changes. */
export const shade = createStore<'light' | 'dark'>('light');

function apply(): void {
  const chosen = theme.get();
  const next = chosen === 'system' ? (prefersDark.matches ? 'dark' : 'light') : chosen;
  document.documentElement.dataset.theme = next;
  shade.set(next);
}

export function setTheme(next: Theme): void {
  remember('theme', next === 'system' ? undefined : next);
  theme.set(next);
  apply();
}

export function startTheme(): void {
  prefersDark.addEventListener('change', apply);
  apply();
}
