import { expect, test } from 'vitest';
import { asAnswer, toBytes, toText } from './passkeys';

test('passkey bytes are base64url without padding', () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, at) => at);
  for (const length of [0, 1, 2, 3, 255, 256]) {
    const text = toText(bytes.slice(0, length).buffer);
    expect(text).toMatch(/^[A-Za-z0-9_-]*$/);
    expect(toBytes(text)).toEqual(bytes.slice(0, length));
  }
  expect(toText(Uint8Array.of(0xfb, 0xff).buffer)).toBe('-_8');
});

test('second-factor answer is either a code or a recovery code', () => {
  expect(asAnswer('123 456')).toEqual({ code: '123456' });
  expect(asAnswer(' abcd-efgh-ijkl-mnop ')).toEqual({ recovery_code: 'abcd-efgh-ijkl-mnop' });
  expect(asAnswer('1234567')).toEqual({ recovery_code: '1234567' });
});
