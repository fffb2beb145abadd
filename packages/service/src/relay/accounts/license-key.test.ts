import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { newLicenseKey, readLicenseKey } from './license-key.ts';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const key = fc.constant(null).map(() => newLicenseKey());
const position = fc.nat(29);
const symbol = fc.constantFrom(...ALPHABET.split(''));

describe('license keys', () => {
  it('M7 formats a key in groups, and reads it back', () => {
    fc.assert(
      fc.property(key, ({ shown, symbols, hint }) => {
        expect(shown).toMatch(/^FB(-[0-9A-HJKMNP-TV-Z]{5}){6}$/);
        expect(shown.endsWith(hint)).toBe(true);
        expect(readLicenseKey(shown)).toBe(symbols);
      }),
    );
  });

  it('M7 reads a key in any case, with spaces, other dashes, no prefix or look-alike letters', () => {
    fc.assert(
      fc.property(key, ({ shown, symbols }) => {
        const body = shown.slice(3);
        const spellings = [
          shown.toLowerCase(),
          `  ${shown.replaceAll('-', ' ')}\n`,
          shown.replaceAll('-', '–'),
          body,
          body.replaceAll('-', ''),
          body.replaceAll('0', 'O').replaceAll('1', 'l'),
          body.replaceAll('1', 'I'),
        ];
        expect(spellings.map(readLicenseKey)).toEqual(spellings.map(() => symbols));
      }),
    );
  });

  it('M7 detects one or two wrong symbols', () => {
    fc.assert(
      fc.property(key, position, symbol, position, symbol, ({ symbols }, at1, to1, at2, to2) => {
        const typed = symbols.split('');
        typed[at1] = to1;
        typed[at2] = to2;
        const text = typed.join('');
        expect(readLicenseKey(text)).toBe(text === symbols ? symbols : undefined);
      }),
      { numRuns: 2000 },
    );
  });

  it('M7 detects two swapped symbols', () => {
    fc.assert(
      fc.property(key, position, position, ({ symbols }, one, other) => {
        const typed = symbols.split('');
        [typed[one], typed[other]] = [typed[other] ?? '', typed[one] ?? ''];
        const text = typed.join('');
        expect(readLicenseKey(text)).toBe(text === symbols ? symbols : undefined);
      }),
      { numRuns: 2000 },
    );
  });

  it('M7 returns undefined for any other text, without throwing', () => {
    for (const text of [
      '',
      'FB',
      'nope',
      'FB-UUUUU-UUUUU-UUUUU-UUUUU-UUUUU-UUUUU',
      'ß'.repeat(30),
      '0'.repeat(99),
    ])
      expect(readLicenseKey(text)).toBeUndefined();
    fc.assert(fc.property(fc.string({ maxLength: 64 }), (text) => readLicenseKey(text) === undefined));
  });

  it('M7 generates different keys', () => {
    expect(new Set(Array.from({ length: 1000 }, () => newLicenseKey().shown)).size).toBe(1000);
  });
});
