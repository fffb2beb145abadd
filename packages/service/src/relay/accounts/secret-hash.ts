import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

const TOKEN_BYTES = 32;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** Returns a device token: 256 random bits, shown once. */
export function newDeviceToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

/** Returns whether a text has the form of a device token. Other texts need no lookup. */
export function isDeviceToken(text: string): boolean {
  return TOKEN.test(text);
}

/** The stored form of a key or token. Both have enough entropy that an unsalted hash cannot be brute-forced. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}

/** Compares two hashes in constant time. */
export function sameHash(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
