import { randomInt } from 'node:crypto';

/** Crockford's base 32: without I, L, O and U, which are easily misread. */
export const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const MISREAD: Readonly<Record<string, string>> = { O: '0', I: '1', L: '1' };

export const randomSymbol = (): number => randomInt(ALPHABET.length);

/** Removes spaces and dashes. Case does not matter. */
export function withoutSeparators(typed: string): string {
  return typed.toUpperCase().replaceAll(/[\s\p{Pd}]/gu, '');
}

/** Reads look-alike letters as digits. */
export function withoutLookAlikes(symbols: string): string {
  return symbols.replaceAll(/[OIL]/g, (letter) => MISREAD[letter] ?? letter);
}
