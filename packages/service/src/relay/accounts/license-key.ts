import { ALPHABET, randomSymbol, withoutLookAlikes, withoutSeparators } from './typed-symbols.ts';

const PREFIX = 'FB';
const RANDOM_SYMBOLS = 28;
const CHECK_SYMBOLS = 2;
const GROUP = 5;

export interface NewLicenseKey {
  /** The form shown to people: `FB-XXXXX-XXXXX-XXXXX-XXXXX-XXXXX-XXXXX`. */
  readonly shown: string;
  /** The form that is hashed, as `readLicenseKey` returns it. */
  readonly symbols: string;
  /** The last group, by which the operator tells keys apart. */
  readonly hint: string;
}

/** Returns a key with 140 random bits and two check symbols. */
export function newLicenseKey(): NewLicenseKey {
  const values = Array.from({ length: RANDOM_SYMBOLS }, randomSymbol);
  const symbols = [...values, ...checkSymbols(values)].map((value) => ALPHABET[value]).join('');
  const groups = symbols.match(new RegExp(`.{${GROUP}}`, 'g')) ?? [];
  return { shown: [PREFIX, ...groups].join('-'), symbols, hint: symbols.slice(-GROUP) };
}

/**
 * Reads a typed key. Case, spaces, dashes and the prefix do not matter, and look-alike letters are read as digits. Returns
 * undefined when the check symbols do not match: up to two wrong symbols, or two swapped ones, are always detected.
 */
export function readLicenseKey(typed: string): string | undefined {
  const bare = withoutSeparators(typed);
  const length = RANDOM_SYMBOLS + CHECK_SYMBOLS;
  const body = bare.length === length + PREFIX.length && bare.startsWith(PREFIX) ? bare.slice(2) : bare;
  if (body.length !== length) return undefined;
  const symbols = withoutLookAlikes(body);
  const values = Array.from(symbols, (symbol) => ALPHABET.indexOf(symbol));
  if (values.includes(-1)) return undefined;
  const [first, second] = checkSymbols(values.slice(0, RANDOM_SYMBOLS));
  const fits = values[RANDOM_SYMBOLS] === first && values[RANDOM_SYMBOLS + 1] === second;
  return fits ? symbols : undefined;
}

// A Reed–Solomon code over GF(32) with the generator (x + a)(x + a²) = x² + (a + a²)x + a³: two check symbols, distance 3.
const FIELD = 0b100101;
const A = 2;
const G1 = A ^ times(A, A);
const G0 = times(A, times(A, A));

function checkSymbols(values: readonly number[]): [number, number] {
  let [high, low] = [0, 0];
  for (const value of values) {
    const feedback = value ^ high;
    [high, low] = [low ^ times(feedback, G1), times(feedback, G0)];
  }
  return [high, low];
}

/** Multiplication in GF(32) modulo x⁵ + x² + 1. */
function times(a: number, b: number): number {
  let product = 0;
  for (let bit = 4; bit >= 0; bit--) {
    product <<= 1;
    if (product & 0b100000) product ^= FIELD;
    if ((b >> bit) & 1) product ^= a;
  }
  return product;
}
