import { expect, test } from 'vitest';
import { input, read, resize, unseen } from './frames';

const text = (value: string) => new TextEncoder().encode(value);

function message(kind: number, body: Uint8Array): ArrayBuffer {
  const bytes = new Uint8Array(5 + body.length);
  bytes[0] = kind;
  new DataView(bytes.buffer).setUint32(1, body.length);
  bytes.set(body, 5);
  return bytes.buffer;
}

test('typed input is one frame, and pasted input as many as needed', () => {
  expect([...(input(text('id'))[0] ?? [])]).toEqual([1, 0, 0, 0, 2, 105, 100]);
  const pasted = input(new Uint8Array(150_000));
  expect(pasted.map((it) => it.length - 5)).toEqual([65_536, 65_536, 18_928]);
  expect(input(new Uint8Array())).toEqual([]);
});

test('resize frame holds two numbers', () => {
  expect([...resize(120, 40)]).toEqual([2, 0, 0, 0, 4, 0, 120, 0, 40]);
});

test('output frame holds its offset', () => {
  const body = new Uint8Array([0, 0, 0, 1, 0, 0, 0, 7, 104, 105]);
  expect(read(message(17, body))).toEqual({ kind: 'output', offset: 2 ** 32 + 7, bytes: text('hi') });
  expect(read(message(18, body)).kind).toBe('screen');
});

test('end and message frames are parsed', () => {
  expect(read(message(20, text('{"code":3}')))).toEqual({ kind: 'exit', code: 3, signal: undefined });
  expect(read(message(21, text('"taken_over"')))).toEqual({ kind: 'close', closing: 'taken_over' });
  expect(read(message(22, text('somebody joined')))).toEqual({ kind: 'notice', text: 'somebody joined' });
  expect(read(message(99, text('x')))).toEqual({ kind: 'other' });
});

test('frame with a wrong length is rejected', () => {
  const bytes = new Uint8Array(message(17, new Uint8Array(10)));
  bytes[4] = 9;
  expect(() => read(bytes.buffer)).toThrow();
});

test('output that was already shown is skipped', () => {
  const bytes = text('abcdef');
  const rest = (seen?: number) => new TextDecoder().decode(unseen(seen, 10, bytes));
  expect([rest(), rest(5), rest(10), rest(13), rest(99)]).toEqual(['abcdef', 'abcdef', 'abcdef', 'def', '']);
});
