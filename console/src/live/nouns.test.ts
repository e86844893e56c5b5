import { expect, test } from 'vitest';
import { staleAfter } from './nouns';

test('event invalidates its noun, the event list and the work queue', () => {
  expect(staleAfter('ssh_key.added')).toEqual(['ssh_key', 'event', 'work']);
});

test('allocation event invalidates capacity and balances', () => {
  const stale = staleAfter('allocation.placed');
  for (const noun of ['allocation', 'capacity', 'balance', 'quota']) expect(stale).toContain(noun);
});

test('event with an unknown subject invalidates its own noun', () => {
  expect(staleAfter('comet.seen')).toEqual(['comet', 'event', 'work']);
});

test('notification badge is invalidated by notification events only', () => {
  expect(staleAfter('notification.created')).toContain('notification');
  expect(staleAfter('allocation.failed')).not.toContain('notification');
});
