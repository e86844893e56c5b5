import { expect, test } from 'vitest';
import { actorOf } from './actor';

test('actor filter accepts a copied id', () => {
  expect(actorOf('user-01m7')).toBe('user:user-01m7');
  expect(actorOf('sa-01m7')).toBe('service_account:sa-01m7');
});

test('actor filter leaves a qualified id unchanged', () => {
  expect(actorOf('user:user-01m7')).toBe('user:user-01m7');
  expect(actorOf('system:recording')).toBe('system:recording');
  expect(actorOf('public')).toBe('public');
});
