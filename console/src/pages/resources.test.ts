import { expect, test } from 'vitest';
import { pageOf } from './resources';

test('what has a page of its own is led to, whatever names it', () => {
  expect(pageOf('org-1', 'alloc-2')).toBe('/o/org-1/allocations/alloc-2');
  expect(pageOf('org-1', 'wallet-2')).toBe('/o/org-1/billing');
  expect(pageOf('org-1', 'comet-2')).toBeUndefined();
  expect(pageOf('org-1', null)).toBeUndefined();
});
