import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { redactMessage } from './error-body.ts';

describe('a redacted message of the CRM', () => {
  it('has no quotation of a text, whole or in part', () => {
    const text = 'Dear Jo, the safe opens with swordfish';
    expect(redactMessage(`text "${text}" is refused`, [text])).toBe('text "…" is refused');
    expect(redactMessage('text "Dear Jo, the s..." is refused', [text])).toBe('text "…..." is refused');
    expect(redactMessage('nothing like "swordfish" here', [text])).toBe('nothing like "…" here');
  });

  it('keeps words that only resemble the text', () => {
    expect(redactMessage('Contact not found', ['Have you found my contact lens?'])).toBe('Contact not found');
  });

  it('never has eight characters in a row of what was sent', () => {
    const text = fc.string({ minLength: 9, maxLength: 60 }).filter((one) => !one.includes('…'));
    fc.assert(
      fc.property(text, fc.nat(60), fc.nat(60), fc.string(), (secret, from, length, around) => {
        const redacted = redactMessage(`${around}${secret.slice(from, from + length)}${around}`, [secret]);
        for (let start = 0; start + 8 <= redacted.length; start++)
          expect(secret.includes(redacted.slice(start, start + 8))).toBe(false);
      }),
    );
  });

  it('is produced in bounded time, however long message and text are', () => {
    const began = performance.now();
    redactMessage('abcdefg '.repeat(30_000), [
      'abcdefgh\n'.repeat(2200),
      ...Array.from({ length: 2200 }, () => 'abcdefgh'),
    ]);
    expect(performance.now() - began).toBeLessThan(250);
  });
});
