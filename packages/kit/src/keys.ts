import { decodeBase64 } from '@footbridge/protocol/base64';

export type Scheme = 'Ed25519' | 'RSA-SHA256';

/** A key that was imported once, for callers who sign or verify often. */
export interface ImportedKey {
  readonly scheme: Scheme;
  readonly key: CryptoKey;
}

type CryptoKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/** What WebCrypto calls the two schemes, and how their keys are told apart: by the object identifier in the key. */
const SCHEMES = {
  Ed25519: { algorithm: { name: 'Ed25519' }, identifier: [0x06, 0x03, 0x2b, 0x65, 0x70] },
  'RSA-SHA256': {
    algorithm: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
    identifier: [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01],
  },
} as const;

const MIN_RSA_BITS = 2048;

/** Reads the private key with which a CRM signs: PKCS#8, PEM, not encrypted. */
export async function importPrivateKey(pem: string): Promise<ImportedKey> {
  return importKey(pem, 'PRIVATE KEY', 'pkcs8', 'sign');
}

/** Reads a public key: SPKI, PEM. */
export async function importPublicKey(pem: string): Promise<ImportedKey> {
  return importKey(pem, 'PUBLIC KEY', 'spki', 'verify');
}

/** The names of the algorithms, for `crypto.subtle`. */
export function algorithmOf(scheme: Scheme): { readonly name: string } {
  return SCHEMES[scheme].algorithm;
}

async function importKey(
  pem: string,
  label: 'PRIVATE KEY' | 'PUBLIC KEY',
  format: 'pkcs8' | 'spki',
  usage: 'sign' | 'verify',
): Promise<ImportedKey> {
  const der = readPem(pem, label);
  const scheme = schemeOf(der);
  if (!scheme) {
    throw new TypeError('The key is neither Ed25519 nor RSA; the bridge takes signatures of these two only.');
  }
  const key = await crypto.subtle
    .importKey(format, der, SCHEMES[scheme].algorithm, false, [usage])
    .catch((cause: unknown) => {
      throw new TypeError(`The PEM does not hold a usable ${scheme} key; was it copied completely?`, {
        cause,
      });
    });
  if ('modulusLength' in key.algorithm && Number(key.algorithm.modulusLength) < MIN_RSA_BITS) {
    throw new TypeError(`An RSA key needs at least ${MIN_RSA_BITS} bits. Ed25519 is the better choice.`);
  }
  return { scheme, key };
}

function readPem(pem: string, label: 'PRIVATE KEY' | 'PUBLIC KEY'): Uint8Array<ArrayBuffer> {
  // Line feeds often arrive as the two characters `\n` when a PEM travels through an environment variable.
  const text = pem.replaceAll('\\n', '\n').trim();
  const found = /^-----BEGIN ([A-Z ]+)-----/.exec(text)?.[1];
  const body = text.slice(`-----BEGIN ${label}-----`.length, -`-----END ${label}-----`.length);
  const der =
    found === label && text.endsWith(`-----END ${label}-----`)
      ? decodeBase64(body.replaceAll(/\s/g, ''))
      : undefined;
  if (der) return der;
  throw new TypeError(`This is no ${label.toLowerCase()} in PEM form. ${hintFor(found, label)}`);
}

function hintFor(found: string | undefined, label: string): string {
  if (found === undefined) return `It must start with -----BEGIN ${label}-----.`;
  if (found === label) return 'The text between the BEGIN and END lines is damaged; copy it again.';
  if (found === 'ENCRYPTED PRIVATE KEY') return 'It is encrypted; decrypt it with: openssl pkey -in key.pem';
  if (found.endsWith('PRIVATE KEY') && label === 'PRIVATE KEY') {
    return 'It is in an older form; convert it with: openssl pkcs8 -topk8 -nocrypt -in key.pem';
  }
  if (found.endsWith('PRIVATE KEY')) {
    return 'It is a private key, which never leaves the signer; make the public one with: openssl pkey -in key.pem -pubout';
  }
  return `It is a ${found.toLowerCase()}; a ${label.toLowerCase()} is needed here.`;
}

function schemeOf(der: Uint8Array): Scheme | undefined {
  // The identifier stands in the first bytes of SPKI and PKCS#8; further on it could be part of a number.
  const head = der.subarray(0, 40);
  if (contains(head, SCHEMES.Ed25519.identifier)) return 'Ed25519';
  return contains(head, SCHEMES['RSA-SHA256'].identifier) ? 'RSA-SHA256' : undefined;
}

function contains(bytes: Uint8Array, part: readonly number[]): boolean {
  return bytes.some((_, at) => part.every((byte, offset) => bytes[at + offset] === byte));
}
