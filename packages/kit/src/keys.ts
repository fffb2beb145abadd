import { decodeBase64 } from '@footbridge/protocol/base64';

export type Scheme = 'Ed25519' | 'RSA-SHA256';

/** An imported key. Callers that sign or verify often should import a key once. */
export interface ImportedKey {
  readonly scheme: Scheme;
  readonly key: CryptoKey;
}

type CryptoKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/** The WebCrypto algorithm of each scheme, and the DER object identifier by which its keys are recognised. */
const SCHEMES = {
  Ed25519: { algorithm: { name: 'Ed25519' }, identifier: [0x06, 0x03, 0x2b, 0x65, 0x70] },
  'RSA-SHA256': {
    algorithm: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
    identifier: [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01],
  },
} as const;

const MIN_RSA_BITS = 2048;

/** Imports the private key with which the CRM signs: PEM, PKCS#8, unencrypted. */
export async function importPrivateKey(pem: string): Promise<ImportedKey> {
  return importKey(pem, 'PRIVATE KEY', 'pkcs8', 'sign');
}

/** Imports a public key: PEM, SPKI. */
export async function importPublicKey(pem: string): Promise<ImportedKey> {
  return importKey(pem, 'PUBLIC KEY', 'spki', 'verify');
}

/** Returns the algorithm of a scheme for `crypto.subtle`. */
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
    throw new TypeError('The key is neither Ed25519 nor RSA. The bridge supports only these two types.');
  }
  const key = await crypto.subtle
    .importKey(format, der, SCHEMES[scheme].algorithm, false, [usage])
    .catch((cause: unknown) => {
      throw new TypeError(
        `The PEM does not contain a usable ${scheme} key. Check that it was copied completely.`,
        {
          cause,
        },
      );
    });
  if ('modulusLength' in key.algorithm && Number(key.algorithm.modulusLength) < MIN_RSA_BITS) {
    throw new TypeError(`An RSA key must have at least ${MIN_RSA_BITS} bits. Prefer Ed25519.`);
  }
  return { scheme, key };
}

function readPem(pem: string, label: 'PRIVATE KEY' | 'PUBLIC KEY'): Uint8Array<ArrayBuffer> {
  // Environment variables often contain the two characters `\n` instead of line feeds.
  const text = pem.replaceAll('\\n', '\n').trim();
  const found = /^-----BEGIN ([A-Z ]+)-----/.exec(text)?.[1];
  const body = text.slice(`-----BEGIN ${label}-----`.length, -`-----END ${label}-----`.length);
  const der =
    found === label && text.endsWith(`-----END ${label}-----`)
      ? decodeBase64(body.replaceAll(/\s/g, ''))
      : undefined;
  if (der) return der;
  throw new TypeError(`This is not a ${label.toLowerCase()} in PEM format. ${hintFor(found, label)}`);
}

function hintFor(found: string | undefined, label: string): string {
  if (found === undefined) return `It must start with -----BEGIN ${label}-----.`;
  if (found === label) return 'The text between the BEGIN and END lines is corrupt; copy it again.';
  if (found === 'ENCRYPTED PRIVATE KEY') return 'It is encrypted; decrypt it with: openssl pkey -in key.pem';
  if (found.endsWith('PRIVATE KEY') && label === 'PRIVATE KEY') {
    return 'It is in an older format; convert it with: openssl pkcs8 -topk8 -nocrypt -in key.pem';
  }
  if (found.endsWith('PRIVATE KEY')) {
    return 'It is a private key, which must stay with the signer; extract the public key with: openssl pkey -in key.pem -pubout';
  }
  return `It is a ${found.toLowerCase()}; a ${label.toLowerCase()} is required here.`;
}

function schemeOf(der: Uint8Array): Scheme | undefined {
  // SPKI and PKCS#8 have the identifier in their first bytes; later, the same bytes could be part of the key itself.
  const head = der.subarray(0, 40);
  if (contains(head, SCHEMES.Ed25519.identifier)) return 'Ed25519';
  return contains(head, SCHEMES['RSA-SHA256'].identifier) ? 'RSA-SHA256' : undefined;
}

function contains(bytes: Uint8Array, part: readonly number[]): boolean {
  return bytes.some((_, at) => part.every((byte, offset) => bytes[at + offset] === byte));
}
