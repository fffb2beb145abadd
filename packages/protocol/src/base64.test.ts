import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeBase64, encodeBase64 } from './base64.ts';

describe('strict base64', () => {
  it('encodes every byte sequence as the platform does', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const text = encodeBase64(bytes);
        expect(text).toBe(Buffer.from(bytes).toString('base64'));
        expect(decodeBase64(text)).toEqual(new Uint8Array(bytes));
      }),
    );
  });

  it('accepts exactly one encoding of every byte sequence', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.base64String(),
          fc.string({
            unit: fc.constantFrom('A', 'Q', 'g', '/', '=', '+', '-', '_', ' ', '\n'),
            maxLength: 12,
          }),
        ),
        (text) => {
          const bytes = decodeBase64(text);
          if (bytes) expect(encodeBase64(bytes)).toBe(text);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it.each([
    ['URL-safe characters', '-_-_'],
    ['missing padding', 'e30'],
    ['too much padding', 'e30=='],
    ['padding alone', '===='],
    ['one character and padding', 'A==='],
    ['padding in the middle', 'e3=0'],
    ['a second value after the padding', 'e30=e30='],
    ['a space', 'e30 '],
    ['a line feed', 'e30=\n'],
    ['unused bits that are not zero', 'e31='],
    ['unused bits that are not zero, two characters', 'QR=='],
    ['a non-ASCII character', 'e30é'],
    ['a lone surrogate', 'e30\ud800'],
  ])('rejects %s', (_, text) => {
    expect(decodeBase64(text)).toBeUndefined();
  });

  it('decodes the empty string to zero bytes', () => {
    expect(decodeBase64('')).toEqual(new Uint8Array());
  });
});
