import { expect, test } from 'vitest';
import { unitOf, words } from './size';

test('names are told in words, and what has capitals keeps them', () => {
  expect(words('out_of_funds')).toBe('Out of funds');
  expect(words('ssh_key.added')).toBe('SSH key added');
  expect(words('ok')).toBe('OK');
  expect(words('token')).toBe('Token');
});

test('one of something has no plural', () => {
  expect(unitOf('1', 'days')).toBe('day');
  expect(unitOf('10', 'days')).toBe('days');
});
