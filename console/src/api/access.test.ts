import { expect, test } from 'vitest';

import { addressesOf } from './access';

test('addresses are parsed after the certificate authority marker', () => {
  const lines =
    '@cert-authority [gw.example.com]:2222,gw.example.net ssh-ed25519 AAAA\ngw.example.org ssh-ed25519 BBBB\n';
  expect(addressesOf(lines)).toEqual(['[gw.example.com]:2222', 'gw.example.net', 'gw.example.org']);
  expect(addressesOf('')).toEqual([]);
});
