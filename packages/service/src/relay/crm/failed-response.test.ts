import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { redactMessage } from './failed-response.ts';

describe('a redacted message of the CRM', () => {
  it('a redacted message quotes no text, whole or in part', () => {
    const text = 'Dear Jo, the safe opens with swordfish';
    expect(redactMessage(`text "${text}" is refused`, [text])).toBe('text "…" is refused');
    expect(redactMessage('text "Dear Jo, the s..." is refused', [text])).toBe('text "…..." is refused');
    expect(redactMessage('nothing like "swordfish" here', [text])).toBe('nothing like "…" here');
  });

  it('a redacted message keeps words that only resemble the text', () => {
    expect(redactMessage('Contact not found', ['Have you found my contact lens?'])).toBe('Contact not found');
  });

  it('a redacted message never has eight consecutive characters of what was sent', () => {
    const text = fc.string({ minLength: 9, maxLength: 60 }).filter((one) => !one.includes('…'));
    fc.assert(
      fc.property(text, fc.nat(60), fc.nat(60), fc.string(), (secret, from, length, around) => {
        const redacted = redactMessage(`${around}${secret.slice(from, from + length)}${around}`, [secret]);
        for (let start = 0; start + 8 <= redacted.length; start++)
          expect(secret.includes(redacted.slice(start, start + 8))).toBe(false);
      }),
    );
  });

  it('a redacted message has no short line of a text', () => {
    expect(redactMessage('code 1x2y is refused', ['Hello\n1x2y\nbye'])).toBe('code … is refused');
    expect(redactMessage('not a good day', ['a\nday'])).toBe('not a good day');
  });

  it.each([
    ['a repeated word', 'aaaaaaac'.repeat(40), 'aaaaaaab'.repeat(3750)],
    ['many lines', 'abcdefg '.repeat(30_000), 'abcdefgh\n'.repeat(3300)],
    ['one letter', 'a'.repeat(320), 'a'.repeat(30_000)],
  ])('T54 takes time in proportion to the text: %s', (_what, message, text) => {
    // Messages of the largest size that a CRM rejects together.
    const redact = () => redactMessage(message, [text, 'token']);
    // The reference for this machine: reads each character of the text once.
    let sum = 0;
    const read = () => {
      for (let at = 0; at < text.length; at++) sum += new Set(text.slice(at, at + 8)).size;
    };
    // Other load can only slow a run down, so the fastest of several alternating runs are compared.
    let [redacting, reading] = [Infinity, Infinity];
    for (let run = 0; run < 30 && !(run >= 10 && redacting < 2 * reading); run++) {
      redacting = Math.min(redacting, timeOf(redact));
      reading = Math.min(reading, timeOf(read));
    }
    expect(sum).toBeGreaterThan(0);
    expect(redacting).toBeLessThan(2 * reading);
  });
});

function timeOf(work: () => void): number {
  const began = performance.now();
  work();
  return performance.now() - began;
}
