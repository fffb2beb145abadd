import { decodeBase64, encodeBase64 } from '@footbridge/protocol/base64';

/** `code`: for the redirect to the bridge. `access`: for calls. `refresh`: for new tokens. */
export type TokenPurpose = 'code' | 'access' | 'refresh';

export const TOKEN_LIFE_SEC = { code: 600, access: 86_400, refresh: 365 * 86_400 } as const;

const HMAC = { name: 'HMAC', hash: 'SHA-256' } as const;
const MIN_SECRET_LENGTH = 32;

/**
 * Returns a token that contains its purpose, location and expiry, signed with the client secret of the CRM. The CRM does not
 * store tokens; a new client secret revokes all of them. Throws if the secret is shorter than 32 characters.
 */
export async function issueToken(
  purpose: TokenPurpose,
  locationId: string,
  secret: string,
  now: number = Date.now(),
): Promise<string> {
  const end = Math.floor(now / 1000) + TOKEN_LIFE_SEC[purpose];
  const claims = toUrlSafe(bytesOf(JSON.stringify([purpose, locationId, end])));
  const signature = await crypto.subtle.sign(HMAC, await keyOf(secret), bytesOf(claims));
  return `${claims}.${toUrlSafe(new Uint8Array(signature))}`;
}

/** Returns the location of a token, or undefined if it is forged, expired or for another purpose. */
export async function readToken(
  purpose: TokenPurpose,
  token: string,
  secret: string,
  now: number = Date.now(),
): Promise<string | undefined> {
  const key = await keyOf(secret);
  const [claims = '', mac = '', ...rest] = token.split('.');
  const signature = fromUrlSafe(mac);
  if (!signature || rest.length > 0) return undefined;
  if (!(await crypto.subtle.verify(HMAC, key, signature, bytesOf(claims)))) return undefined;
  const read = JSON.parse(new TextDecoder().decode(fromUrlSafe(claims))) as [TokenPurpose, string, number];
  const [signedFor, locationId, end] = read;
  return signedFor === purpose && now < end * 1000 ? locationId : undefined;
}

/** Compares two secrets in constant time. */
export async function sameSecret(given: string, secret: string): Promise<boolean> {
  const key = await keyOf(secret);
  const signature = await crypto.subtle.sign(HMAC, key, bytesOf(given));
  return crypto.subtle.verify(HMAC, key, signature, bytesOf(secret));
}

async function keyOf(secret: string) {
  if (secret.length < MIN_SECRET_LENGTH)
    throw new TypeError(`The client secret must have at least ${MIN_SECRET_LENGTH} characters.`);
  return crypto.subtle.importKey('raw', bytesOf(secret), HMAC, false, ['sign', 'verify']);
}

const bytesOf = (text: string) => new TextEncoder().encode(text);

const toUrlSafe = (bytes: Uint8Array) =>
  encodeBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');

function fromUrlSafe(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[\w-]+$/.test(text)) return undefined;
  const padding = '='.repeat((4 - (text.length % 4)) % 4);
  return decodeBase64(text.replaceAll('-', '+').replaceAll('_', '/') + padding);
}
