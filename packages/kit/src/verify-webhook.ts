import { decodeBase64 } from '@footbridge/protocol/base64';
import { algorithmOf, importPublicKey, type ImportedKey, type Scheme } from './keys.ts';
import { headerValues, sameName, type RequestHeaders } from './request-headers.ts';
import { SIGNATURE_HEADERS } from './sign-webhook.ts';

/** A public key whose signatures are accepted. */
export interface TrustedKey {
  readonly publicKey: string | ImportedKey;
  readonly scheme: Scheme;
  /** Defaults to `X-CRM-Signature` for Ed25519 and `X-WH-Signature` for RSA-SHA256. */
  readonly header?: string;
  readonly label?: string;
}

/** `reason` is for your log. Respond to the caller with 401 and no details. */
export type VerifyResult<Key> =
  | { readonly ok: true; readonly key: Key }
  | { readonly ok: false; readonly reason: string };

/**
 * Verifies a webhook signature as the bridge does: over the raw bytes, in strict base64, with the header and scheme of
 * each key. The legacy header is used only if the current one is absent (S3, S4).
 */
export async function verifyWebhook<Key extends TrustedKey>(
  raw: string | Uint8Array,
  headers: RequestHeaders,
  trusted: readonly Key[],
): Promise<VerifyResult<Key>> {
  const body = typeof raw === 'string' ? new TextEncoder().encode(raw) : new Uint8Array(raw);
  const names = [SIGNATURE_HEADERS.Ed25519, ...trusted.map(headerOf), SIGNATURE_HEADERS['RSA-SHA256']];
  const name = names.toSorted(legacyLast).find((candidate) => headerValues(headers, candidate).length > 0);
  if (name === undefined) return { ok: false, reason: 'the request has no signature header' };

  const [value = '', ...others] = headerValues(headers, name);
  const signature = others.length === 0 ? decodeBase64(value) : undefined;
  if (!signature) return { ok: false, reason: 'the signature header is not a single value in strict base64' };

  for (const key of trusted.filter((candidate) => sameName(headerOf(candidate), name))) {
    if (await signedBy(key, signature, body)) return { ok: true, key };
  }
  return { ok: false, reason: 'the signature does not match the body under any trusted key' };
}

async function signedBy(
  trusted: TrustedKey,
  signature: Uint8Array<ArrayBuffer>,
  body: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const { publicKey } = trusted;
  const { key, scheme } = typeof publicKey === 'string' ? await importPublicKey(publicKey) : publicKey;
  if (scheme !== trusted.scheme)
    throw new TypeError(`A trusted key has scheme ${trusted.scheme}, but its type is ${scheme}.`);
  return crypto.subtle.verify(algorithmOf(scheme), key, signature, body);
}

function headerOf(key: TrustedKey): string {
  return key.header ?? SIGNATURE_HEADERS[key.scheme];
}

function legacyLast(a: string, b: string): number {
  const legacy = SIGNATURE_HEADERS['RSA-SHA256'];
  return Number(sameName(a, legacy)) - Number(sameName(b, legacy));
}
