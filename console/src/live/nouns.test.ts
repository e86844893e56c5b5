import { expect, test } from 'vitest';
import { staleAfter } from './nouns';

test('an event makes its own noun old, the list of events and the work queue', () => {
  expect(staleAfter('ssh_key.added')).toEqual(['ssh_key', 'event', 'work']);
});

test('an allocation that moves changes capacity and money', () => {
  const stale = staleAfter('allocation.placed');
  for (const noun of ['allocation', 'capacity', 'balance', 'quota']) expect(stale).toContain(noun);
});

test('a subject that is new is its own noun', () => {
  expect(staleAfter('comet.seen')).toEqual(['comet', 'event', 'work']);
});

test('only what a person is told rings the bell', () => {
  expect(staleAfter('notification.created')).toContain('notification');
  expect(staleAfter('allocation.failed')).not.toContain('notification');
});
