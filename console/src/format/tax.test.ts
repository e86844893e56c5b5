import { expect, test } from 'vitest';
import { basisPoints, percentOf } from './tax';

test('percentages are exact hundredths', () => {
  expect(['19', '8.1', '7.75 %', '0', '100'].map(basisPoints)).toEqual([1900, 810, 775, 0, 10_000]);
  expect([1900, 810, 775].map(percentOf)).toEqual(['19', '8.1', '7.75']);
});

test('text that is not a percentage is rejected', () => {
  expect(['', 'VAT', '-1', '100.01', '1.234'].map(basisPoints)).toEqual(Array(5).fill(undefined));
});
