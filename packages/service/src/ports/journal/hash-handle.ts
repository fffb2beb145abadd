import { createHmac, hkdfSync } from 'node:crypto';

/**
 * Returns keyed hashes of a phone number or email address: by the newest key first, for writing, and by all keys, for searching.
 * Without the key a hash cannot be reversed by trying all phone numbers.
 */
export function hashHandle(keys: readonly Uint8Array[]): (handle: string) => string[] {
  const derived = keys.map((key) => Buffer.from(hkdfSync('sha256', key, '', 'journal handle', 32)));
  return (handle) => {
    const text = normalised(handle);
    return derived.map((key) => createHmac('sha256', key).update(text).digest('base64url'));
  };
}

/** Different spellings of one phone number are equal. */
const normalised = (handle: string): string =>
  handle.includes('@') ? handle.trim().toLowerCase() : handle.replaceAll(/[^+\d]/g, '');
