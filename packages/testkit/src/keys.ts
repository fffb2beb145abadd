import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';

export type Scheme = 'Ed25519' | 'RSA-SHA256';

export interface SigningKey {
  readonly scheme: Scheme;
  /** The default header of a signature by this key. */
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

/** Returns a key derived from a string seed, or with 32 bytes as its secret, or a random one without a seed. */
export function ed25519Key(seed?: string | Uint8Array): SigningKey {
  return signingKey('Ed25519', seed === undefined ? freshEd25519() : ed25519From(seed));
}

/** Generates a new key, which is slow. Prefer `fixedRsaKey` if any key will do. */
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
 * Returns the options of a signed webhook: `fetch(url, signedRequest(body, key))`. Strings and bytes are signed and sent
 * unchanged, anything else as compact JSON.
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

// Parsing a PEM costs more than signing with it, and load tests sign thousands of requests.
const parsedKeys = new WeakMap<SigningKey, KeyObject>();

function privateKeyOf(key: SigningKey): KeyObject {
  const cached = parsedKeys.get(key);
  if (cached) return cached;
  const parsed = createPrivateKey(key.privateKey);
  parsedKeys.set(key, parsed);
  return parsed;
}

function bytesOf(body: string | Uint8Array): Buffer<ArrayBuffer> {
  return typeof body === 'string' ? Buffer.from(body) : Buffer.from(body);
}
