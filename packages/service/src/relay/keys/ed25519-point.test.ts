import { ed25519Key } from '@footbridge/testkit/keys';
import { createPublicKey } from 'node:crypto';
import { describe, expect, it } from 'vitest';

import { isPlausiblePoint, isValidPublicKey } from './ed25519-point.ts';
import { rawEd25519 } from './read-public-key.ts';
import { addPoints, decodePoint, encodePoint } from './testing/edwards25519.ts';

const bytes = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'));
const ORDER_EIGHT = bytes('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a');

const generated = () => rawEd25519(createPublicKey(ed25519Key().publicKey));

const WEAK: [name: string, key: Uint8Array][] = [
  ['the identity', bytes(`01${'00'.repeat(31)}`)],
  ['zero', bytes('00'.repeat(32))],
  ['a point of order eight', ORDER_EIGHT],
  ['a y of 2^255 − 19, which encodes zero in another way', bytes(`ed${'ff'.repeat(30)}7f`)],
  ['a y of 2^255 − 18, which encodes the identity in another way', bytes(`ee${'ff'.repeat(30)}7f`)],
  ['31 bytes', bytes('11'.repeat(31))],
];

describe.each([
  ['with libsodium', isValidPublicKey],
  ['without libsodium', isPlausiblePoint],
])('Ed25519 public keys %s', (_engine, isValid) => {
  it('S6 accepts generated keys', () => {
    for (let key = 0; key < 50; key++) expect(isValid(generated())).toBe(true);
  });

  it.each(WEAK)('S6 rejects %s', (_name, key) => {
    expect(isValid(key)).toBe(false);
  });
});

it('S6 rejects a key with a component outside the main subgroup', () => {
  const [honest, torsion] = [decodePoint(generated()), decodePoint(ORDER_EIGHT)];
  if (honest === undefined || torsion === undefined) throw new Error('not a point');
  expect(isValidPublicKey(encodePoint(addPoints(honest, torsion)))).toBe(false);
});
