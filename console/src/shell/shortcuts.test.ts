import { expect, test } from 'vitest';
import { PLACES } from './pages';
import { GO, meaning } from './shortcuts';

const pressed = (key: string, ctrlKey = false) => ({ key, ctrlKey, metaKey: false, altKey: false });

test('letters open pages only after g', () => {
  expect(meaning(pressed('a'), false)).toBeUndefined();
  expect(meaning(pressed('g'), false)).toBe('prefix');
  expect(meaning(pressed('a'), true)).toEqual({ go: '/o/$org/allocations' });
  expect(meaning(pressed('x'), true)).toBeUndefined();
});

test('palette opens with a slash or Ctrl K, and other Ctrl keys are ignored', () => {
  expect(meaning(pressed('/'), false)).toBe('palette');
  expect(meaning(pressed('k', true), false)).toBe('palette');
  expect(meaning(pressed('c', true), false)).toBeUndefined();
});

test('shortcuts all lead to pages of the navigation', () => {
  const known = PLACES.map((it) => it.to);
  expect(Object.values(GO).filter((it) => !known.includes(it))).toEqual([]);
});
