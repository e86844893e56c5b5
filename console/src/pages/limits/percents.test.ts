import { expect, test } from 'vitest';
import { parsePercents } from './percents';

test('percentages are parsed with any separator', () => {
  expect(parsePercents('50, 80,100')).toEqual([50, 80, 100]);
  expect(parsePercents('50% 80%')).toEqual([50, 80]);
  expect(parsePercents('')).toEqual([]);
});

test('text that is not a percentage is rejected', () => {
  for (const bad of ['half', '0', '12.5', '2000', '-5', '1 2 3 4 5 6 7 8 9 10 11'])
    expect(parsePercents(bad)).toBeUndefined();
});
