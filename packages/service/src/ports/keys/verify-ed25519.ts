import { verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import type Sodium from 'sodium-native';

import { sodium } from '../../sodium.ts';
import { rawEd25519 } from './read-public-key.ts';

export type Verify = (body: Uint8Array, signature: Uint8Array) => boolean;

/** libsodium where its binary loads, a quarter cheaper than OpenSSL; OpenSSL elsewhere. Both give the same answers. */
export function ed25519Verifier(key: KeyObject): Verify {
  return sodium === null ? opensslVerifier(key) : sodiumVerifier(sodium, key);
}

function sodiumVerifier(library: typeof Sodium, key: KeyObject): Verify {
  const raw = rawEd25519(key);
  return (body, signature) => library.crypto_sign_verify_detached(signature, body, raw);
}

/** Older OpenSSLs let an R of small order through, libsodium does not: the stricter answer holds. */
export function opensslVerifier(key: KeyObject): Verify {
  return (body, signature) => !SMALL_ORDER.has(hex(signature, 32)) && verify(null, body, key, signature);
}

const hex = (bytes: Uint8Array, length: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, length).toString('hex');

/** The eight points of small order. Other spellings of them need no entry: R is compared with the canonical one. */
const SMALL_ORDER = new Set([
  '0100000000000000000000000000000000000000000000000000000000000000',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  '0000000000000000000000000000000000000000000000000000000000000080',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85',
  '0000000000000000000000000000000000000000000000000000000000000000',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa',
]);
