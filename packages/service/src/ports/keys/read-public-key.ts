import { createHash, createPublicKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import { isValidPublicKey } from './ed25519-point.ts';
import type { Scheme } from './keys.ts';

export interface PublicKey {
  readonly key: KeyObject;
  /** SPKI, PEM, in the one spelling that we store. */
  readonly pem: string;
  /** SHA-256 of the SPKI, hex. */
  readonly fingerprint: string;
}

export type ReadPublicKey = PublicKey | { readonly fault: string };

const MAX_PEM = 16_384;
const MIN_RSA_BITS = 2048;
const MAX_RSA_BITS = 8192;
const MIN_RSA_EXPONENT = 65_537n;

/** Reads a PEM and holds it against its scheme. The real type of the key decides, not what somebody called it. */
export function readPublicKey(pem: string, scheme: Scheme): ReadPublicKey {
  const text = pem.trim();
  if (/PRIVATE KEY/.test(text))
    return {
      fault:
        'is a private key, which must never leave the CRM; treat it as leaked, make a new pair and give its public half',
    };
  if (/BEGIN CERTIFICATE/.test(text))
    return {
      fault: 'is a certificate; take its public key with `openssl x509 -pubkey -noout` and give that',
    };
  if (text.length > MAX_PEM || text.split('-----BEGIN ').length !== 2 || !text.startsWith('-----BEGIN '))
    return { fault: 'is not one PEM block; it must start with -----BEGIN PUBLIC KEY-----' };
  const key = parse(text);
  if (key === undefined) return { fault: 'cannot be read as a public key; was a line lost while copying?' };
  const fault = scheme === 'Ed25519' ? ed25519Fault(key) : rsaFault(key);
  return fault === undefined ? publicKey(key) : { fault };
}

/** A key that was checked when it was stored. */
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

/** The 32 bytes at the end of the SPKI. */
export function rawEd25519(key: KeyObject): Buffer {
  return key.export({ type: 'spki', format: 'der' }).subarray(-32);
}

function ed25519Fault(key: KeyObject): string | undefined {
  const type = key.asymmetricKeyType ?? 'unknown';
  if (type !== 'ed25519') return `is of type ${type}, but the scheme Ed25519 needs an Ed25519 key`;
  if (!isValidPublicKey(rawEd25519(key)))
    return 'is a weak Ed25519 key under which signatures can be made up; make a new pair';
  return undefined;
}

function rsaFault(key: KeyObject): string | undefined {
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
