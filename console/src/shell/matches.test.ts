import { expect, test } from 'vitest';
import { matches } from './matches';

test('search matches words in any order and case', () => {
  expect(matches('acc serv', 'Service accounts Organization')).toBe(true);
  expect(matches('AUDIT', 'Audit log')).toBe(true);
  expect(matches('', 'anything')).toBe(true);
  expect(matches('audit zebra', 'Audit log')).toBe(false);
});
