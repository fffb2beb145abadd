import { createHash, createPublicKey, randomBytes, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import { ed25519Key } from '@footbridge/testkit/keys';
import * as fc from 'fast-check';
import sodium from 'sodium-native';
import { describe, expect, it } from 'vitest';

import { FastEd25519 } from './ed25519/fast-ed25519.ts';
import {
  ORDER,
  addPoints,
  decodePoint,
  encodePoint,
  littleEndian,
  multiplyPoint,
  toLittleEndian,
} from './edwards25519.ts';
import type { Point } from './edwards25519.ts';
import { rawEd25519 } from './read-public-key.ts';
import { Ed25519Verifiers, opensslVerifier } from './verify-ed25519.ts';

const BASE = pointOf(`58${'66'.repeat(31)}`);
const ZERO = multiplyPoint(BASE, 0n);
/** The eight points of small order, as multiples of one of order eight. */
const TORSION = Array.from({ length: 8 }, (_, k) =>
  multiplyPoint(pointOf('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a'), BigInt(k)),
);
const SECRET = 0x1234_5678_9abc_def0_1234_5678_9abc_def0n;
const NONCE = 0x0fed_cba9_8765_4321_0fed_cba9_8765_4321n;
const messages = Array.from({ length: 8 }, (_, n) => Buffer.from(`message ${n}`));

function pointOf(hex: string): Point {
  const point = decodePoint(Buffer.from(hex, 'hex'));
  if (point === undefined) throw new Error(`no point: ${hex}`);
  return point;
}

const keyOf = (raw: Uint8Array): KeyObject =>
  createPublicKey({
    key: Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), raw]),
    format: 'der',
    type: 'spki',
  });

/** Signs as the book says, but with whatever is added to R, S and the public key. */
function crafted(
  message: Uint8Array,
  options: { key?: Point; offset?: Point; nonce?: bigint; addToS?: bigint },
) {
  const publicKey = encodePoint(options.key ?? multiplyPoint(BASE, SECRET));
  const nonce = options.nonce ?? NONCE;
  const r = encodePoint(addPoints(multiplyPoint(BASE, nonce), options.offset ?? ZERO));
  const digest = createHash('sha512').update(r).update(publicKey).update(message).digest();
  const s = ((nonce + littleEndian(digest) * SECRET) % ORDER) + (options.addToS ?? 0n);
  return { publicKey: keyOf(publicKey), signature: Buffer.concat([r, toLittleEndian(s)]) };
}

let engine = new FastEd25519();

/** The fast engine alone, also for keys that the service would never let it prepare for. */
function fast(raw: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (engine.isFull) engine = new FastEd25519();
  const prepared = engine.prepare(raw);
  return prepared !== undefined && engine.verify(prepared, message, signature);
}

function answers(key: KeyObject, message: Uint8Array, signature: Uint8Array) {
  const raw = rawEd25519(key);
  return {
    fast: fast(raw, message, signature),
    openssl: opensslVerifier(key)(message, signature),
    sodium: sodium.crypto_sign_verify_detached(signature, message, raw),
  };
}

const REFUSED = { fast: false, openssl: false, sodium: false };
const ACCEPTED = { fast: true, openssl: true, sodium: true };

describe('our engine, OpenSSL and libsodium give the same answer', () => {
  it('S2 to honest signatures', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), fc.constantFrom('a', 'b', 'c', 'd'), (message, seed) => {
        const key = ed25519Key(seed);
        const signature = sign(null, message, key.privateKey);
        expect(answers(createPublicKey(key.publicKey), message, signature)).toEqual(ACCEPTED);
      }),
      { numRuns: 200 },
    );
  });

  it('S2 to a body of a megabyte', () => {
    const key = ed25519Key('large');
    const message = randomBytes(1_000_000);
    expect(answers(createPublicKey(key.publicKey), message, sign(null, message, key.privateKey))).toEqual(
      ACCEPTED,
    );
  });

  it('S2 to signatures crafted without tricks, also with the smallest and largest numbers', () => {
    for (const nonce of [1n, 2n, 31n, 32n, 33n, 63n, 64n, NONCE, ORDER - 1n, ORDER - 33n])
      for (const message of messages) {
        const { publicKey, signature } = crafted(message, { nonce });
        expect(answers(publicKey, message, signature)).toEqual(ACCEPTED);
      }
  });

  it('S2 to any flipped bit of message or signature', () => {
    const key = ed25519Key('flip');
    const publicKey = createPublicKey(key.publicKey);
    const message = Buffer.from('{"locationId":"loc1"}');
    const signature = sign(null, message, key.privateKey);
    const flipped = (bytes: Buffer, bit: number) => {
      const copy = Buffer.from(bytes);
      copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      return copy;
    };
    for (let bit = 0; bit < message.length * 8; bit += 3)
      expect(answers(publicKey, flipped(message, bit), signature)).toEqual(REFUSED);
    for (let bit = 0; bit < 512; bit++)
      expect(answers(publicKey, message, flipped(signature, bit))).toEqual(REFUSED);
  });

  it('S8 to random bytes', () => {
    const key = createPublicKey(ed25519Key('random').publicKey);
    const bytes = fc.uint8Array({ minLength: 64, maxLength: 64 });
    fc.assert(
      fc.property(bytes, fc.uint8Array(), fc.boolean(), (signature, message, reduced) => {
        if (reduced) signature[63] = 0;
        expect(answers(key, message, signature)).toEqual(REFUSED);
      }),
      { numRuns: 300 },
    );
  });

  it('S8 to an S that was not reduced', () => {
    for (const message of messages) {
      const { publicKey, signature } = crafted(message, { addToS: ORDER });
      expect(answers(publicKey, message, signature)).toEqual(REFUSED);
    }
  });

  it('S8 to an R with a part of small order, where only the cofactored equation holds', () => {
    for (const offset of TORSION.slice(1))
      for (const message of messages) {
        const { publicKey, signature } = crafted(message, { offset });
        expect(answers(publicKey, message, signature)).toEqual(REFUSED);
      }
  });

  it('S8 to public keys with a part of small order: all use the same equation', () => {
    for (const part of TORSION.slice(1))
      for (const message of messages) {
        const key = addPoints(multiplyPoint(BASE, SECRET), part);
        const { publicKey, signature } = crafted(message, { key });
        expect(Object.values(answers(publicKey, message, signature))).toSatisfy(
          (all: boolean[]) => new Set(all).size === 1,
        );
      }
  });
});

describe('the stricter answer', () => {
  const verify = (key: KeyObject) => new Ed25519Verifiers(() => {}).verifier(key);

  it('S8 refuses an R of small order, which only the owner of the key can make', () => {
    for (const offset of TORSION) {
      const message = Buffer.from('message');
      const { publicKey, signature } = crafted(message, { offset, nonce: 0n });
      const honest = crafted(message, {});
      const inUse = verify(publicKey);
      expect(inUse(message, signature)).toBe(false);
      expect(inUse(message, honest.signature)).toBe(true);
      expect(inUse(message, signature)).toBe(false);
      expect(sodium.crypto_sign_verify_detached(signature, message, rawEd25519(publicKey))).toBe(false);
    }
  });

  it('S8 refuses public keys of small order, with every R of small order and S zero', () => {
    for (const key of TORSION)
      for (const r of TORSION) {
        const signature = Buffer.concat([encodePoint(r), Buffer.alloc(32)]);
        const inUse = verify(keyOf(encodePoint(key)));
        for (const message of messages.slice(0, 2)) expect(inUse(message, signature)).toBe(false);
      }
  }, 30_000);

  it.each([`ed${'ff'.repeat(30)}7f`, `ee${'ff'.repeat(30)}7f`, `01${'00'.repeat(30)}80`, 'ff'.repeat(32)])(
    'S8 refuses the public key %s, which is not spelled canonically',
    (hex) => {
      const inUse = verify(keyOf(Buffer.from(hex, 'hex')));
      for (const r of TORSION) {
        const signature = Buffer.concat([encodePoint(r), Buffer.alloc(32)]);
        expect(inUse(Buffer.from('message'), signature)).toBe(false);
      }
    },
  );
});

describe('the verifiers in use', () => {
  const key = ed25519Key('verifiers');
  const publicKey = createPublicKey(key.publicKey);
  const signed = (n: number) => {
    const message = Buffer.from(`message ${n}`);
    return [message, sign(null, message, key.privateKey)] as const;
  };

  it('S2 say yes to good and no to bad signatures, before and after the table is there', () => {
    const verifier = new Ed25519Verifiers(() => {}).verifier(publicKey);
    const [, foreign] = signed(-1);
    for (let n = 0; n < 600; n++) {
      const [message, signature] = signed(n);
      expect(verifier(message, foreign)).toBe(false);
      expect(verifier(message, signature)).toBe(true);
    }
  });

  it('S2 hold keys apart: what one signed is nothing to another', () => {
    const verifiers = new Ed25519Verifiers(() => {});
    const keys = Array.from({ length: 70 }, (_, n) => ed25519Key(`key ${n}`));
    const made = keys.map((each) => verifiers.verifier(createPublicKey(each.publicKey)));
    const message = Buffer.from('message');
    const signatures = keys.map((each) => sign(null, message, each.privateKey));
    for (let round = 0; round < 2; round++)
      for (const [at, verifier] of made.entries()) {
        expect(verifier(message, signatures[at] ?? message)).toBe(true);
        expect(verifier(message, signatures[(at + 1) % 70] ?? message)).toBe(false);
      }
    expect(verifiers.isFull).toBe(true);
  }, 30_000);

  it('signatures of another length are refused', () => {
    const prepared = engine.prepare(rawEd25519(publicKey));
    const [message, signature] = signed(1);
    if (prepared === undefined) throw new Error('not prepared');
    expect(engine.verify(prepared, message, signature)).toBe(true);
    expect(engine.verify(prepared, message, signature.subarray(1))).toBe(false);
    expect(engine.verify(prepared, message, Buffer.concat([signature, Buffer.alloc(1)]))).toBe(false);
    expect(engine.verify(prepared, message, Buffer.alloc(0))).toBe(false);
  });
});
