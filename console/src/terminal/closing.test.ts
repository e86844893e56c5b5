import { expect, test } from 'vitest';
import { next, pauseMs } from './closing';

test('close codes of a lost gateway or connection are retried', () => {
  for (const code of [1001, 1006, 1011, 4503]) {
    expect(next(code, undefined)).toMatchObject({ then: 'again', end: 'lost' });
  }
});

test('close codes of a deliberate end are not retried', () => {
  for (const code of [1000, 4400, 4403, 4408, 4409, 4410, 4429]) {
    expect(next(code, undefined).then).toBe('over');
  }
});

test('close code with two meanings is told apart by its reason', () => {
  expect(next(4403, 'unrecorded').end).toBe('unrecorded');
  expect(next(4408, 'idle').end).toBe('idle');
  expect(next(4404, 'allocation_ended')).toEqual({ then: 'over', end: 'gone' });
  expect(next(4404, 'host_gone').then).toBe('again');
});

test('backoff grows and ends', () => {
  expect(pauseMs(0, 0.5)).toBe(300);
  expect(pauseMs(3, 0.5)).toBe(2400);
  expect(pauseMs(1000, 1)).toBe(18_750);
});
