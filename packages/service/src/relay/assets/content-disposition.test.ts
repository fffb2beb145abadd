import { ANY_CHARACTER } from '@footbridge/testkit/any-character';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contentDisposition } from './content-disposition.ts';

describe('contentDisposition', () => {
  it('I8 gives an ASCII name and, when it differs, the exact name', () => {
    expect(contentDisposition('inline', 'a b.png')).toBe('inline; filename="a b.png"');
    expect(contentDisposition('attachment', 'Käse (1).png')).toBe(
      `attachment; filename="K_se (1).png"; filename*=UTF-8''K%C3%A4se%20%281%29.png`,
    );
  });

  it('I8 keeps every name inside the header value', () => {
    fc.assert(
      fc.property(fc.string({ unit: ANY_CHARACTER }), (name) => {
        expect(contentDisposition('attachment', name)).toMatch(
          /^attachment; filename="[^"\\\r\n]*"(; filename\*=UTF-8''[\w.!~%-]*)?$/,
        );
      }),
    );
  });
});
