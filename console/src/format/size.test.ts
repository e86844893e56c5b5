import { expect, test } from 'vitest';
import { unitOf, words } from './size';

test('identifiers become words, and acronyms stay in capitals', () => {
  expect(words('out_of_funds')).toBe('Out of funds');
  expect(words('ssh_key.added')).toBe('SSH key added');
  expect(words('ok')).toBe('OK');
  expect(words('token')).toBe('Token');
});

test('plurals leave one of something singular', () => {
  expect(unitOf('1', 'days')).toBe('day');
  expect(unitOf('10', 'days')).toBe('days');
});
