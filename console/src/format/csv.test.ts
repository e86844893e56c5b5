import { expect, test } from 'vitest';
import { csv } from './csv';

test('cells are quoted where they must be', () => {
  expect(csv([['a', 'b,c', 'd"e', 1]])).toBe('a,"b,c","d""e",1\r\n');
});

test('a name is never a formula', () => {
  expect(csv([['=SUM(A1)', '-1+2', -3]])).toBe("'=SUM(A1),'-1+2,-3\r\n");
});

test('a number with all of its digits stays a number', () => {
  expect(csv([[{ plain: '-1.500000' }, { plain: '' }]])).toBe('-1.500000,\r\n');
});
