import { ALPHABET, randomSymbol, withoutLookAlikes, withoutSeparators } from './typed-symbols.ts';

const LENGTH = 8;
const GROUP = 4;

export interface NewPairingCode {
  /** The form shown to people: `XXXX-XXXX`. */
  readonly shown: string;
  /** The form that is hashed, as `readPairingCode` returns it. */
  readonly symbols: string;
}

/** Returns a code with 40 random bits. Guessing is too slow to succeed: a code is valid for minutes, and wrong codes are limited. */
export function newPairingCode(): NewPairingCode {
  const symbols = Array.from({ length: LENGTH }, () => ALPHABET[randomSymbol()]).join('');
  return { shown: `${symbols.slice(0, GROUP)}-${symbols.slice(GROUP)}`, symbols };
}

/** Reads a typed code. Case, spaces, dashes and what follows an `@` do not matter. Returns undefined for any other text. */
export function readPairingCode(typed: string): string | undefined {
  const [code = ''] = typed.split('@');
  const symbols = withoutLookAlikes(withoutSeparators(code));
  return symbols.length === LENGTH && Array.from(symbols).every((symbol) => ALPHABET.includes(symbol))
    ? symbols
    : undefined;
}
