import { expect, test } from 'vitest';
import { align } from './align';

test('series share one time axis, with gaps for missing points', () => {
  const first = [[1000, 5] as const, [3000, 7] as const];
  const second = [[2000, 1] as const, [3000, 2] as const];
  expect(align([first, second])).toEqual({
    times: [1, 2, 3],
    values: [
      [5, null, 7],
      [null, 1, 2],
    ],
  });
});

test('series of nothing is empty', () => {
  expect(align([])).toEqual({ times: [], values: [] });
});
