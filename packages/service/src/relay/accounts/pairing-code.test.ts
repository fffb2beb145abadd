import { describe, expect, it } from 'vitest';

import { newPairingCode, readPairingCode } from './pairing-code.ts';

describe('pairing codes', () => {
  it('M12 are two groups of four symbols, and all different', () => {
    const codes = Array.from({ length: 200 }, newPairingCode);
    for (const { shown, symbols } of codes) {
      expect(shown).toMatch(/^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$/);
      expect(readPairingCode(shown)).toBe(symbols);
    }
    expect(new Set(codes.map(({ symbols }) => symbols)).size).toBe(200);
  });

  it.each([
    'k7qf-30m1',
    ' K7QF 30M1\n',
    'K7QF30M1',
    'K7QF–30M1',
    'K7QF-3OML',
    'k7qf-3omi@bridge.example.com',
  ])('M12 %j is read as K7QF30M1', (typed) => {
    expect(readPairingCode(typed)).toBe('K7QF30M1');
  });

  it.each(['', 'K7QF-30M', 'K7QF-30M12', 'K7QF-30MU', '@K7QF-30M1', 'K7QF-30M😀'])(
    'M12 %j is not a code',
    (typed) => {
      expect(readPairingCode(typed)).toBeUndefined();
    },
  );
});
