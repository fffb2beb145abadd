import { verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import type Sodium from 'sodium-native';

import { sodium } from '../../platform/sodium.ts';
import { hasSmallOrder } from './ed25519-point.ts';
import { rawEd25519 } from './read-public-key.ts';

export type Verify = (body: Uint8Array, signature: Uint8Array) => boolean;

/** Verifies with libsodium, or with OpenSSL where libsodium has no binary. Both accept the same signatures. */
export function ed25519Verifier(key: KeyObject): Verify {
  return sodium === null ? opensslVerifier(key) : sodiumVerifier(sodium, key);
}

function sodiumVerifier(library: typeof Sodium, key: KeyObject): Verify {
  const raw = rawEd25519(key);
  return (body, signature) => library.crypto_sign_verify_detached(signature, body, raw);
}

/** Older OpenSSL versions accept an R of small order. libsodium does not, so it is rejected here too. */
export function opensslVerifier(key: KeyObject): Verify {
  return (body, signature) => !hasSmallOrder(signature) && verify(null, body, key, signature);
}
