import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { presentable } from './crm-reason.ts';

describe('the words of the CRM', () => {
  it('lose what they quote of a text, whole or in part', () => {
    const text = 'Dear Jo, the safe opens with swordfish';
    expect(presentable(`text "${text}" is refused`, [text])).toBe('text "…" is refused');
    expect(presentable('text "Dear Jo, the s..." is refused', [text])).toBe('text "…..." is refused');
    expect(presentable('nothing like "swordfish" here', [text])).toBe('nothing like "…" here');
  });

  it('keep what only sounds alike', () => {
    expect(presentable('Contact not found', ['Have you found my contact lens?'])).toBe('Contact not found');
  });

  it('never hold eight characters in a row of what was sent', () => {
    const text = fc.string({ minLength: 9, maxLength: 60 }).filter((one) => !one.includes('…'));
    fc.assert(
      fc.property(text, fc.nat(60), fc.nat(60), fc.string(), (secret, from, length, around) => {
        const words = presentable(`${around}${secret.slice(from, from + length)}${around}`, [secret]);
        for (let start = 0; start + 8 <= words.length; start++)
          expect(secret.includes(words.slice(start, start + 8))).toBe(false);
      }),
    );
  });

  it('are read in no time, however long they and the text are', () => {
    const began = performance.now();
    presentable('abcdefg '.repeat(30_000), [
      'abcdefgh\n'.repeat(2200),
      ...Array.from({ length: 2200 }, () => 'abcdefgh'),
    ]);
    expect(performance.now() - began).toBeLessThan(250);
  });
});
