import { expect, test } from 'vitest';
import { clock, parse, reached, schedule, sizeOf } from './cast';

const CAST = [
  '{"version":2,"width":90,"height":30}',
  '[0.5,"o","a"]',
  '[1.0,"i","typed"]',
  '[9.5,"m","4 bytes of output are missing here"]',
  '[9.5,"r","100x40"]',
  '',
].join('\n');

test('recording output is parsed, and input is left out', () => {
  const cast = parse(CAST);
  expect([cast.columns, cast.rows, cast.lengthS]).toEqual([90, 30, 9.5]);
  expect(cast.events.map((it) => it.kind)).toEqual(['output', 'marker', 'size']);
});

test('text that is not a recording is rejected', () => {
  expect(() => parse('')).toThrow();
  expect(() => parse('{"version":1}')).toThrow();
  expect(() => parse('{"version":2}\nnonsense')).toThrow();
  expect(parse('{"version":2,"width":0,"height":99999}')).toMatchObject({ columns: 80, rows: 500 });
});

test('pauses are shortened, and nothing else', () => {
  const { events } = parse(CAST);
  expect(schedule(events, 2)).toEqual([0.5, 2.5, 2.5]);
  expect(schedule(events, Infinity)).toEqual([0.5, 9.5, 9.5]);
});

test('events up to a time are found', () => {
  const times = [0.5, 2.5, 2.5];
  expect([0, 0.5, 2.4, 2.5, 99].map((at) => reached(times, at))).toEqual([0, 1, 1, 3, 3]);
});

test('sizes and times are parsed and formatted', () => {
  expect(sizeOf('100x40')).toEqual([100, 40]);
  expect(sizeOf('100')).toBeUndefined();
  expect([0, 75.9, 3675].map((it) => clock(it))).toEqual(['0:00', '1:15', '1:01:15']);
  expect(clock(0.96, 1.2)).toBe('0.9 s');
});
