import { createHmac, createSecretKey, hkdfSync } from 'node:crypto';

import { isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js/max';
import type { CountryCode } from 'libphonenumber-js/max';

import { RecentCache } from '../../platform/recent-cache.ts';

/** The ways in which a CRM, a Mac and an operator write the number of a person. */
export interface Phones {
  /** W8. Returns a possible number in E.164 and a short code unchanged, or undefined for anything else. */
  normal(given: string): string | undefined;
  /**
   * Returns a sender as it is recorded. A number is normalised, without the service that Messages adds to some numbers. Any other text is
   * unchanged.
   */
  recorded(given: string): string;
  /**
   * Returns the forms in which a number may be recorded: normalised, as given, and, in the default country, without its country code, as
   * a Mac may report it. The same digits without a country code can belong to people in several other countries.
   */
  forms(given: string): string[];
  /** Returns a normal number or an email address, or undefined for what is neither. */
  handle(given: string): string | undefined;
}

const MAX_GIVEN = 64;
/** Most messages belong to an ongoing conversation, so what is computed for a person was computed recently. */
const CACHED_PER_GENERATION = 5000;
const NORTH_AMERICAN = /^\+1[2-9]\d{9}$/;
const SHORT_CODE = /^\d{3,8}$/;
const DIGITS = /^\+?\d{3,20}$/;
/** Such as `(smsfp)`. */
const SERVICE = /\s*\([A-Za-z_]+\)\s*$/;
const SEPARATORS = /[\s.()\p{Pd}]/gu;

/** Parsing takes about 25 µs, so its results are cached. */
export function createPhones(defaultCountry: string): Phones {
  const country = isSupportedCountry(defaultCountry) ? defaultCountry : undefined;
  const cache = new RecentCache<string, string | null>(CACHED_PER_GENERATION);

  function cached(given: string): string | null {
    const known = cache.get(given);
    if (known !== undefined) return known;
    const phone = normalise(given, country);
    cache.set(given, phone);
    return phone;
  }

  function normal(given: string): string | undefined {
    // Under +1 every ten-digit number that does not start with 0 or 1 is possible, so parsing is skipped.
    if (NORTH_AMERICAN.test(given)) return given;
    return given.length > MAX_GIVEN ? undefined : (cached(given) ?? undefined);
  }

  const recorded = (given: string): string => normal(given.replace(SERVICE, '')) ?? given;

  return {
    normal,
    recorded,
    forms(given) {
      const number = given.replace(SERVICE, '');
      const phone = normal(number);
      if (phone === undefined) return [given];
      const parsed = parsePhoneNumberFromString(phone);
      const national = parsed?.formatNational().replace(/\D/g, '') ?? phone;
      const isUnambiguous = SHORT_CODE.test(national)
        ? parsed?.country === defaultCountry
        : recorded(national) === phone;
      return [...new Set([phone, number.replace(SEPARATORS, ''), ...(isUnambiguous ? [national] : [])])];
    },
    handle: (given) => (given.includes('@') ? given.trim() : normal(given.trim())),
  };
}

function normalise(given: string, country: CountryCode | undefined): string | null {
  const digits = given.replace(SEPARATORS, '');
  if (SHORT_CODE.test(digits)) return digits;
  if (!DIGITS.test(digits)) return null;
  const number = parsePhoneNumberFromString(digits, country);
  return number?.isPossible() === true ? number.number : null;
}

/** Hashes of a customer's phone number, address or contact id, by which the journal finds messages. */
export interface KeyedHash {
  /** By the newest key first, for writing, and by all keys, for searching. */
  handle(handle: string): readonly string[];
  contact(contactId: string): readonly string[];
  /** Ids of the keys, in the same order. Only hashes made with the same key can be compared. */
  readonly keyIds: readonly string[];
}

const KEY_ID_LENGTH = 12;

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
