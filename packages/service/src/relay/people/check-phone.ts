import { isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js/max';
import type { CountryCode } from 'libphonenumber-js/max';

import { RecentCache } from '../../platform/recent-cache.ts';
import { Rejection } from '../webhook/rejection.ts';

export type CheckPhone = (given: string) => string | Rejection;

const MAX_GIVEN = 64;
const CACHED_PER_GENERATION = 5000;
const NORTH_AMERICAN = /^\+1[2-9]\d{9}$/;
const SHORT_CODE = /^\d{3,8}$/;
const DIGITS = /^\+?\d{3,20}$/;
/** Such as `(smsfp)`. */
const SERVICE = /\s*\([A-Za-z_]+\)\s*$/;
const SEPARATORS = /[\s.()\p{Pd}]/gu;

/** W8. Normalises a possible number to E.164; short codes stay unchanged. Parsing takes about 25 µs, so results are cached. */
export function phoneCheck(defaultCountry: string): CheckPhone {
  const country = isSupportedCountry(defaultCountry) ? defaultCountry : undefined;
  const cache = new RecentCache<string, string | null>(CACHED_PER_GENERATION);

  function cached(given: string): string | null {
    const known = cache.get(given);
    if (known !== undefined) return known;
    const phone = normalise(given, country);
    cache.set(given, phone);
    return phone;
  }

  return (given) => {
    // Under +1 every ten-digit number that does not start with 0 or 1 is possible, so parsing is skipped.
    if (NORTH_AMERICAN.test(given)) return given;
    const phone = given.length > MAX_GIVEN ? null : cached(given);
    return phone ?? new Rejection('RECIPIENT_PHONE_INVALID');
  };
}

/** Returns a sender as it is recorded: a number normalised, without the service that Messages adds to some; any other text as given. */
export function recordedPhone(checkPhone: CheckPhone, given: string): string {
  const phone = checkPhone(given.replace(SERVICE, ''));
  return phone instanceof Rejection ? given : phone;
}

/**
 * Returns the forms in which a number may be recorded: normalised, as given, and, in the default country, without its country code, as a
 * Mac may report it. The same digits without a country code can belong to people in several other countries.
 */
export function recordedForms(checkPhone: CheckPhone, given: string, defaultCountry: string): string[] {
  const number = given.replace(SERVICE, '');
  const phone = checkPhone(number);
  if (phone instanceof Rejection) return [given];
  const parsed = parsePhoneNumberFromString(phone);
  const national = parsed?.formatNational().replace(/\D/g, '') ?? phone;
  const isUnambiguous = SHORT_CODE.test(national)
    ? parsed?.country === defaultCountry
    : recordedPhone(checkPhone, national) === phone;
  return [...new Set([phone, number.replace(SEPARATORS, ''), ...(isUnambiguous ? [national] : [])])];
}

function normalise(given: string, country: CountryCode | undefined): string | null {
  const digits = given.replace(SEPARATORS, '');
  if (SHORT_CODE.test(digits)) return digits;
  if (!DIGITS.test(digits)) return null;
  const number = parsePhoneNumberFromString(digits, country);
  return number?.isPossible() === true ? number.number : null;
}
