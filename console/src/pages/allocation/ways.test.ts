import { expect, test } from 'vitest';
import { portOf, sshLine } from './ways';

test('ssh command omits the default port', () => {
  expect(sshLine('alloc-1', 'gw.example.com')).toBe('ssh alloc-1@gw.example.com');
  expect(sshLine('alloc-1', '[127.0.0.1]:2222')).toBe('ssh -p 2222 alloc-1@127.0.0.1');
});

test('port is a number from 1 to 65535', () => {
  expect([' 8888 ', '1', '65535'].map(portOf)).toEqual([8888, 1, 65_535]);
  expect(['', '0', '65536', '80a', '-1', '1e3', '123456'].map(portOf)).toEqual(Array(7).fill(undefined));
});
