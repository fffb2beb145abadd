import { createHash, createPublicKey, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import { ed25519Key } from '@footbridge/testkit/keys';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  ORDER,
  addPoints,
  decodePoint,
  encodePoint,
  littleEndian,
  multiplyPoint,
} from './testing/edwards25519.ts';
import type { Point } from './testing/edwards25519.ts';
import { ed25519Verifier, opensslVerifier } from './key-ring.ts';

const BASE = pointOf(`58${'66'.repeat(31)}`);
const ZERO = multiplyPoint(BASE, 0n);
/** The eight points of small order, as multiples of one of order eight. */
const TORSION = Array.from({ length: 8 }, (_, k) =>
  multiplyPoint(pointOf('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a'), BigInt(k)),
);
const SECRET = 0x1234_5678_9abc_def0_1234_5678_9abc_def0n;
const NONCE = 0x0fed_cba9_8765_4321_0fed_cba9_8765_4321n;

function pointOf(hex: string): Point {
  const point = decodePoint(Buffer.from(hex, 'hex'));
  if (point === undefined) throw new Error(`not a point: ${hex}`);
  return point;
}

const scalar = (value: bigint) =>
  Uint8Array.from({ length: 32 }, (_, at) => Number((value >> BigInt(8 * at)) & 255n));

const keyOf = (raw: Uint8Array): KeyObject =>
  createPublicKey({
    key: Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), raw]),
    format: 'der',
    type: 'spki',
  });

/** Signs by RFC 8032, with the given additions to R, S and the public key. */
function crafted(
  message: Uint8Array,
  options: { key?: Point; offset?: Point; nonce?: bigint; addToS?: bigint },
) {
  const publicKey = encodePoint(options.key ?? multiplyPoint(BASE, SECRET));
  const nonce = options.nonce ?? NONCE;
  const r = encodePoint(addPoints(multiplyPoint(BASE, nonce), options.offset ?? ZERO));
  const digest = createHash('sha512').update(r).update(publicKey).update(message).digest();
  const s = ((nonce + littleEndian(digest) * SECRET) % ORDER) + (options.addToS ?? 0n);
  return { publicKey: keyOf(publicKey), signature: Buffer.concat([r, scalar(s)]) };
}

function verdicts(key: KeyObject, message: Uint8Array, signature: Uint8Array) {
  return {
    inUse: ed25519Verifier(key)(message, signature),
    openssl: opensslVerifier(key)(message, signature),
  };
}

const REJECTED = { inUse: false, openssl: false };
const ACCEPTED = { inUse: true, openssl: true };
const messages = Array.from({ length: 8 }, (_, n) => Buffer.from(`message ${n}`));
const message0 = Buffer.from('message 0');

describe('Ed25519 verification by libsodium and OpenSSL', () => {
  it('S2 accepts valid signatures', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.string(), (message, seed) => {
        const key = ed25519Key(seed);
        const signature = sign(null, message, key.privateKey);
        expect(verdicts(createPublicKey(key.publicKey), message, signature)).toEqual(ACCEPTED);
      }),
      { numRuns: 100 },
    );
  });

  it('S2 accepts a crafted signature without additions', () => {
    const { publicKey, signature } = crafted(message0, {});
    expect(verdicts(publicKey, message0, signature)).toEqual(ACCEPTED);
  });

  it('S8 rejects an S that is not reduced', () => {
    for (const message of messages) {
      const { publicKey, signature } = crafted(message, { addToS: ORDER });
      expect(verdicts(publicKey, message, signature)).toEqual(REJECTED);
    }
  });

  it('S8 rejects an R with a component of small order, for which only the cofactored equation holds', () => {
    for (const offset of TORSION.slice(1))
      for (const message of messages.slice(0, 2)) {
        const { publicKey, signature } = crafted(message, { offset });
        expect(verdicts(publicKey, message, signature)).toEqual(REJECTED);
      }
  });

  it('S8 rejects an R of small order', () => {
    for (const offset of TORSION) {
      const { publicKey, signature } = crafted(message0, { offset, nonce: 0n });
      expect(verdicts(publicKey, message0, signature)).toEqual(REJECTED);
    }
  });

  it('S8 rejects public keys of small order, with every R of small order and S zero', () => {
    for (const key of TORSION)
      for (const r of TORSION) {
        const signature = Buffer.concat([encodePoint(r), scalar(0n)]);
        for (const message of messages)
          expect(verdicts(keyOf(encodePoint(key)), message, signature)).toEqual(REJECTED);
      }
  });

  it('S8 uses the same equation for public keys with a component of small order', () => {
    for (const component of TORSION.slice(1))
      for (const message of messages) {
        const key = addPoints(multiplyPoint(BASE, SECRET), component);
        const { publicKey, signature } = crafted(message, { key });
        const { inUse, openssl } = verdicts(publicKey, message, signature);
        expect(inUse).toBe(openssl);
      }
  });

  it.each([`ed${'ff'.repeat(30)}7f`, `ee${'ff'.repeat(30)}7f`, `01${'00'.repeat(30)}80`, 'ff'.repeat(32)])(
    'S8 rejects the public key %s, which is not canonically encoded',
    (hex) => {
      for (const r of TORSION) {
        const signature = Buffer.concat([encodePoint(r), scalar(0n)]);
        expect(verdicts(keyOf(Buffer.from(hex, 'hex')), message0, signature)).toEqual(REJECTED);
      }
    },
  );

  it('S8 rejects random bytes', () => {
    const key = createPublicKey(ed25519Key('random').publicKey);
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 64, maxLength: 64 }), fc.uint8Array(), (signature, message) => {
        expect(verdicts(key, message, signature)).toEqual(REJECTED);
      }),
      { numRuns: 200 },
    );
  });

  it('S2 rejects any flipped bit of the message or signature', () => {
    const key = ed25519Key('flip');
    const message = Buffer.from('{"locationId":"loc1"}');
    const signature = sign(null, message, key.privateKey);
    const verify = ed25519Verifier(createPublicKey(key.publicKey));
    const flipped = (bytes: Buffer, bit: number) => {
      const copy = Buffer.from(bytes);
      copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      return copy;
    };
    for (let bit = 0; bit < message.length * 8; bit++)
      expect(verify(flipped(message, bit), signature)).toBe(false);
    for (let bit = 0; bit < 512; bit++) expect(verify(message, flipped(signature, bit))).toBe(false);
  });
});
