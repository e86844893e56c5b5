import { expect, test } from 'vitest';
import { actorOf } from './actor';

test('an id that was copied is found as the log names it', () => {
  expect(actorOf('user-01m7')).toBe('user:user-01m7');
  expect(actorOf('sa-01m7')).toBe('service_account:sa-01m7');
});

test('what is named already stays as it is', () => {
  expect(actorOf('user:user-01m7')).toBe('user:user-01m7');
  expect(actorOf('system:recording')).toBe('system:recording');
  expect(actorOf('public')).toBe('public');
});
