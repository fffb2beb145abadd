import { isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js/max';
import type { CountryCode } from 'libphonenumber-js/max';

import { Rejection } from './rejection.ts';

export type CheckPhone = (given: string) => string | Rejection;

const MAX_GIVEN = 64;
const GENERATION = 5000;
const NORTH_AMERICAN = /^\+1[2-9]\d{9}$/;
const SHORT_CODE = /^\d{3,8}$/;
const DIGITS = /^\+?\d{3,20}$/;

/** W8. Normalises a possible number to E.164; short codes stay unchanged. Parsing takes about 25 µs, so results are cached. */
export function phoneCheck(defaultCountry: string): CheckPhone {
  const country = isSupportedCountry(defaultCountry) ? defaultCountry : undefined;
  let young = new Map<string, string | null>();
  let old = new Map<string, string | null>();

  function remembered(given: string): string | null {
    const known = young.get(given);
    if (known !== undefined) return known;
    const answer = old.get(given) ?? normalise(given, country);
    if (young.size >= GENERATION) [young, old] = [new Map(), young];
    young.set(given, answer);
    return answer;
  }

  return (given) => {
    // Under +1 every ten-digit number that does not start with 0 or 1 is possible, so parsing is skipped.
    if (NORTH_AMERICAN.test(given)) return given;
    const phone = given.length > MAX_GIVEN ? null : remembered(given);
    return phone ?? new Rejection('RECIPIENT_PHONE_INVALID');
  };
}

function normalise(given: string, country: CountryCode | undefined): string | null {
  const digits = given.replace(/[\s.()\p{Pd}]/gu, '');
  if (SHORT_CODE.test(digits)) return digits;
  if (!DIGITS.test(digits)) return null;
  const number = parsePhoneNumberFromString(digits, country);
  return number?.isPossible() === true ? number.number : null;
}
