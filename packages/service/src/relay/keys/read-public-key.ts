import { createHash, createPublicKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import { isValidPublicKey } from './ed25519-point.ts';
import type { Scheme } from './keys.ts';

export interface PublicKey {
  readonly key: KeyObject;
  /** SPKI as PEM, in the normalised form that is stored. */
  readonly pem: string;
  /** SHA-256 of the SPKI, hex. */
  readonly fingerprint: string;
}

export type ReadPublicKey = PublicKey | { readonly problem: string };

const MAX_PEM = 16_384;
const MIN_RSA_BITS = 2048;
const MAX_RSA_BITS = 8192;
const MIN_RSA_EXPONENT = 65_537n;

/** Parses a PEM and checks the real type of the key against the declared scheme. */
export function readPublicKey(pem: string, scheme: Scheme): ReadPublicKey {
  const text = pem.trim();
  if (/PRIVATE KEY/.test(text))
    return {
      problem:
        'is a private key, which must never leave the CRM; treat it as leaked, generate a new key pair and use its public key',
    };
  if (/BEGIN CERTIFICATE/.test(text))
    return {
      problem: 'is a certificate; extract its public key with `openssl x509 -pubkey -noout` and use that',
    };
  if (text.length > MAX_PEM || text.split('-----BEGIN ').length !== 2 || !text.startsWith('-----BEGIN '))
    return { problem: 'is not one PEM block; it must start with -----BEGIN PUBLIC KEY-----' };
  const key = parse(text);
  if (key === undefined)
    return { problem: 'cannot be parsed as a public key; check that it was copied completely' };
  const problem = scheme === 'Ed25519' ? ed25519Problem(key) : rsaProblem(key);
  return problem === undefined ? publicKey(key) : { problem };
}

/** Parses a stored key, which was checked when it was added. Throws when it cannot be parsed. */
export function storedPublicKey(pem: string): PublicKey {
  return publicKey(createPublicKey(pem));
}

function publicKey(key: KeyObject): PublicKey {
  const der = key.export({ type: 'spki', format: 'der' });
  return {
    key,
    pem: key.export({ type: 'spki', format: 'pem' }),
    fingerprint: createHash('sha256').update(der).digest('hex'),
  };
}

function parse(pem: string): KeyObject | undefined {
  try {
    return createPublicKey(pem);
  } catch {
    return undefined;
  }
}

/** Returns the last 32 bytes of the SPKI. */
export function rawEd25519(key: KeyObject): Buffer {
  return key.export({ type: 'spki', format: 'der' }).subarray(-32);
}

function ed25519Problem(key: KeyObject): string | undefined {
  const type = key.asymmetricKeyType ?? 'unknown';
  if (type !== 'ed25519') return `is of type ${type}, but the scheme Ed25519 needs an Ed25519 key`;
  if (!isValidPublicKey(rawEd25519(key)))
    return 'is a weak Ed25519 key, for which signatures can be forged; generate a new key pair';
  return undefined;
}

function rsaProblem(key: KeyObject): string | undefined {
  const type = key.asymmetricKeyType ?? 'unknown';
  if (type !== 'rsa') return `is of type ${type}, but the scheme RSA-SHA256 needs an RSA key`;
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {};
  if (modulusLength < MIN_RSA_BITS)
    return `has ${modulusLength} bits; an RSA key needs at least ${MIN_RSA_BITS}`;
  if (modulusLength > MAX_RSA_BITS) return `has ${modulusLength} bits; at most ${MAX_RSA_BITS} are accepted`;
  if (publicExponent < MIN_RSA_EXPONENT)
    return `has the public exponent ${publicExponent}; at least ${MIN_RSA_EXPONENT} is needed`;
  return undefined;
}
