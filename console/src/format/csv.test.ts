import { expect, test } from 'vitest';
import { csv } from './csv';

test('cells are quoted where necessary', () => {
  expect(csv([['a', 'b,c', 'd"e', 1]])).toBe('a,"b,c","d""e",1\r\n');
});

test('names are never formulas', () => {
  expect(csv([['=SUM(A1)', '-1+2', -3]])).toBe("'=SUM(A1),'-1+2,-3\r\n");
});

test('numbers retain all of their digits', () => {
  expect(csv([[{ plain: '-1.500000' }, { plain: '' }]])).toBe('-1.500000,\r\n');
});
