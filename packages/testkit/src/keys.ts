import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';

export type Scheme = 'Ed25519' | 'RSA-SHA256';

export interface SigningKey {
  readonly scheme: Scheme;
  /** The header a signature of this key travels in, unless a call names another. */
  readonly header: string;
  /** SPKI, PEM. */
  readonly publicKey: string;
  /** PKCS#8, PEM. */
  readonly privateKey: string;
}

export interface SignedRequest {
  readonly method: 'POST';
  readonly headers: Record<string, string>;
  readonly body: Buffer<ArrayBuffer>;
}

const HEADERS: Record<Scheme, string> = { Ed25519: 'X-CRM-Signature', 'RSA-SHA256': 'X-WH-Signature' };

/** A text seed always gives the same key, 32 bytes are taken as the secret itself, nothing gives a fresh key. */
export function ed25519Key(seed?: string | Uint8Array): SigningKey {
  return signingKey('Ed25519', seed === undefined ? freshEd25519() : ed25519From(seed));
}

/** Fresh on every call, and slow to make: prefer `fixedRsaKey` where any key will do. */
export function rsaKey(bits = 2048): SigningKey {
  return signingKey('RSA-SHA256', generateKeyPairSync('rsa', { modulusLength: bits }).privateKey);
}

let fixedRsa: SigningKey | undefined;

export function fixedRsaKey(): SigningKey {
  fixedRsa ??= signingKey(
    'RSA-SHA256',
    createPrivateKey(readFileSync(new URL('../fixtures/rsa-for-tests.pem', import.meta.url))),
  );
  return fixedRsa;
}

export function signBody(body: string | Uint8Array, key: SigningKey): string {
  const digest = key.scheme === 'Ed25519' ? null : 'sha256';
  return sign(digest, bytesOf(body), privateKeyOf(key)).toString('base64');
}

/**
 * A webhook ready for `fetch(url, signedRequest(body, key))`. Text and bytes are signed and sent exactly as given,
 * anything else as compact JSON.
 */
export function signedRequest(
  body: unknown,
  key: SigningKey,
  options: { header?: string; headers?: Record<string, string>; signature?: string } = {},
): SignedRequest {
  const bytes = bytesOf(typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body));
  return {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      [options.header ?? key.header]: options.signature ?? signBody(bytes, key),
      ...options.headers,
    },
    body: bytes,
  };
}

function signingKey(scheme: Scheme, privateKey: KeyObject): SigningKey {
  return {
    scheme,
    header: HEADERS[scheme],
    publicKey: createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }),
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  };
}

function freshEd25519(): KeyObject {
  return generateKeyPairSync('ed25519').privateKey;
}

function ed25519From(seed: string | Uint8Array): KeyObject {
  const secret = typeof seed === 'string' ? createHash('sha256').update(seed).digest() : seed;
  const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex');
  return createPrivateKey({ key: Buffer.concat([pkcs8Head, secret]), format: 'der', type: 'pkcs8' });
}

// Parsing a PEM costs more than signing with it, and load tests sign by the thousand.
const parsed = new WeakMap<SigningKey, KeyObject>();

function privateKeyOf(key: SigningKey): KeyObject {
  const known = parsed.get(key);
  if (known) return known;
  const made = createPrivateKey(key.privateKey);
  parsed.set(key, made);
  return made;
}

function bytesOf(body: string | Uint8Array): Buffer<ArrayBuffer> {
  return typeof body === 'string' ? Buffer.from(body) : Buffer.from(body);
}
