import { encodeBase64 } from '@footbridge/protocol/base64';
import { algorithmOf, importPrivateKey, type ImportedKey, type Scheme } from './keys.ts';

/** The default header of each signature scheme. The operator may register a key for another header. */
export const SIGNATURE_HEADERS = {
  Ed25519: 'X-CRM-Signature',
  'RSA-SHA256': 'X-WH-Signature',
} as const satisfies Record<Scheme, string>;

export interface SignedWebhook {
  /** `Content-Type` and the signature. */
  readonly headers: Readonly<Record<string, string>>;
  /** The bytes that were signed. Send exactly these: a re-serialised body does not match the signature. */
  readonly body: Uint8Array<ArrayBuffer>;
}

export interface SignOptions {
  /** The header for which the operator registered the key. */
  readonly header?: string;
}

/**
 * Signs the exact bytes of a webhook body with the CRM's private key, given as PEM or already imported.
 * The type of the key determines the signature scheme.
 */
export async function signWebhook(
  body: string | Uint8Array,
  privateKey: string | ImportedKey,
  options: SignOptions = {},
): Promise<SignedWebhook> {
  const { key, scheme } = typeof privateKey === 'string' ? await importPrivateKey(privateKey) : privateKey;
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : new Uint8Array(body);
  const signature = await crypto.subtle.sign(algorithmOf(scheme), key, bytes);
  const header = options.header ?? SIGNATURE_HEADERS[scheme];
  return {
    headers: { 'Content-Type': 'application/json', [header]: encodeBase64(new Uint8Array(signature)) },
    body: bytes,
  };
}
