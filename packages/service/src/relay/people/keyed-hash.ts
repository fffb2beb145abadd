import { createHmac, createSecretKey, hkdfSync } from 'node:crypto';

import { RecentCache } from '../../platform/recent-cache.ts';

/** Hashes of a customer's phone number, address or contact id, by which the journal finds messages. */
export interface KeyedHash {
  /** By the newest key first, for writing, and by all keys, for searching. */
  handle(handle: string): readonly string[];
  contact(contactId: string): readonly string[];
  /** Ids of the keys, in the same order. Only hashes made with the same key can be compared. */
  readonly keyIds: readonly string[];
}

const KEY_ID_LENGTH = 12;
/** Most messages belong to an ongoing conversation, so their hashes were computed recently. */
const CACHED_PER_GENERATION = 5000;

/** Without the key a hash cannot be reversed by trying all phone numbers. */
export function keyedHash(keys: readonly Uint8Array[]): KeyedHash {
  const derived = keys.map((key) =>
    createSecretKey(Buffer.from(hkdfSync('sha256', key, '', 'journal handle', 32))),
  );
  const cache = new RecentCache<string, readonly string[]>(CACHED_PER_GENERATION);
  const hashes = (text: string): readonly string[] => {
    const cached = cache.get(text);
    if (cached !== undefined) return cached;
    const hashed = derived.map((key) => createHmac('sha256', key).update(text).digest('base64url'));
    cache.set(text, hashed);
    return hashed;
  };
  return {
    handle: (handle) => hashes(normalised(handle)),
    contact: (contactId) => hashes(`contact ${contactId}`),
    keyIds: hashes('key id').map((hash) => hash.slice(0, KEY_ID_LENGTH)),
  };
}

/** Ignores spaces and punctuation in numbers. The caller adds the country code. */
function normalised(handle: string): string {
  if (handle.includes('@')) return handle.trim().toLowerCase();
  const isName = /\p{L}/u.test(handle);
  return isName ? handle.trim() : handle.replaceAll(/[^+\d]/g, '');
}
