import { expect, test } from 'vitest';
import lifecycles from '../../../../docs/generated/lifecycles.md?raw';
import { MOVES, movesMade } from './moves';

test('diagram has the moves of the lifecycle', () => {
  const diagram = /## allocation\n[\s\S]*?```\n\n/.exec(lifecycles)?.[0] ?? '';
  const pairs = [...diagram.matchAll(/^ {2}(\w+) --> (\w+):/gm)].map((it) => `${it[1]} ${it[2]}`);
  const expected = new Set(pairs.filter((it) => it.split(' ')[0] !== it.split(' ')[1]));
  const drawn = Object.entries(MOVES).flatMap(([from, all]) => all.map((to) => `${from} ${to}`));
  expect(drawn.sort()).toEqual([...expected].sort());
});

test('moves made are derived from events', () => {
  const events = [{ data: { from: 'requested', to: 'provisioning' } }, { data: { count: 1 } }, {}];
  expect([...movesMade(events)]).toEqual(['requested provisioning']);
});
