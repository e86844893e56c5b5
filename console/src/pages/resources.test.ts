import { expect, test } from 'vitest';
import { pageOf } from './resources';

test('resource id links to its page, whatever names it', () => {
  expect(pageOf('org-1', 'alloc-2')).toBe('/o/org-1/allocations/alloc-2');
  expect(pageOf('org-1', 'wallet-2')).toBe('/o/org-1/billing');
  expect(pageOf('org-1', 'comet-2')).toBeUndefined();
  expect(pageOf('org-1', null)).toBeUndefined();
});
