import { decodeBase64 } from '@footbridge/protocol/base64';
import { algorithmOf, importPublicKey, type ImportedKey, type Scheme } from './keys.ts';
import { SIGNATURE_HEADERS } from './sign-webhook.ts';

/** One entry of the list of keys that may sign. */
export interface TrustedKey {
  readonly publicKey: string | ImportedKey;
  readonly scheme: Scheme;
  /** `X-CRM-Signature` for Ed25519 and `X-WH-Signature` for RSA-SHA256, unless it says something else. */
  readonly header?: string;
  readonly label?: string;
}

/** The reason is for your log; tell the caller nothing but 401. */
export type Verified<Key> =
  | { readonly ok: true; readonly key: Key }
  | { readonly ok: false; readonly reason: string };

/** As Node, `fetch` or a framework hand them over. */
export type RequestHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Checks a webhook as the bridge does: over the raw bytes, with strict base64, under the header and scheme of each key.
 * The current header, when it is there, is the only one that counts; the legacy one is a fallback (S3, S4).
 */
export async function verifyWebhook<Key extends TrustedKey>(
  raw: string | Uint8Array,
  headers: RequestHeaders,
  trusted: readonly Key[],
): Promise<Verified<Key>> {
  const body = typeof raw === 'string' ? new TextEncoder().encode(raw) : new Uint8Array(raw);
  const names = [SIGNATURE_HEADERS.Ed25519, ...trusted.map(headerOf), SIGNATURE_HEADERS['RSA-SHA256']];
  const name = names.toSorted(legacyLast).find((candidate) => valuesOf(headers, candidate).length > 0);
  if (name === undefined) return { ok: false, reason: 'the request carries no signature' };

  const [value = '', ...others] = valuesOf(headers, name);
  const signature = others.length === 0 ? decodeBase64(value) : undefined;
  if (!signature) return { ok: false, reason: 'the signature is not one value of strict base64' };

  for (const key of trusted.filter((candidate) => sameName(headerOf(candidate), name))) {
    if (await signedBy(key, signature, body)) return { ok: true, key };
  }
  return { ok: false, reason: 'no trusted key made this signature over these bytes' };
}

async function signedBy(
  trusted: TrustedKey,
  signature: Uint8Array<ArrayBuffer>,
  body: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const { publicKey } = trusted;
  const { key, scheme } = typeof publicKey === 'string' ? await importPublicKey(publicKey) : publicKey;
  if (scheme !== trusted.scheme)
    throw new TypeError(`A ${scheme} key is listed under the scheme ${trusted.scheme}.`);
  return crypto.subtle.verify(algorithmOf(scheme), key, signature, body);
}

function headerOf(key: TrustedKey): string {
  return key.header ?? SIGNATURE_HEADERS[key.scheme];
}

function sameName(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

function legacyLast(a: string, b: string): number {
  const legacy = SIGNATURE_HEADERS['RSA-SHA256'];
  return Number(sameName(a, legacy)) - Number(sameName(b, legacy));
}

/** All values under a name; an empty one is a value, too. */
function valuesOf(headers: RequestHeaders, name: string): readonly string[] {
  if (isHeaders(headers)) return [headers.get(name)].filter((value) => value !== null);
  return Object.entries(headers).flatMap(([key, value]) => (sameName(key, name) ? (value ?? []) : []));
}

function isHeaders(headers: RequestHeaders): headers is Headers {
  return typeof headers['get'] === 'function';
}
