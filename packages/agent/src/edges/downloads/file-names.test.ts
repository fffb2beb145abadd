import { ANY_CHARACTER } from '@footbridge/testkit/any-character';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { fileNameOf, mimeOf } from './file-names.ts';

const at = (path: string): URL => new URL(path, 'https://files.example.com');

describe('the name of a downloaded file', () => {
  it.each([
    ['/a/photo.jpg?x=1', undefined, undefined, 'photo.jpg'],
    ['/a/photo', undefined, 'image/png', 'photo.png'],
    ['/', undefined, 'application/pdf', 'attachment.pdf'],
    ['/x', 'attachment; filename="Offer 12.pdf"', undefined, 'Offer 12.pdf'],
    ['/x', "attachment; filename*=UTF-8''%E2%82%AC.pdf", undefined, '€.pdf'],
    ['/x', 'attachment; filename="../../etc/passwd"', undefined, 'passwd'],
    ['/x', 'attachment; filename=".hidden.sh"', undefined, 'hidden.sh'],
    ['/..%2f..%2fevil.png', undefined, undefined, 'evil.png'],
    ['/%00%0aa.png', undefined, undefined, 'a.png'],
    ['/%E0%A4%A', undefined, 'image/gif', '%E0%A4%A.gif'],
  ])('%s with %s and %s is %s', (path, disposition, type, name) => {
    expect(fileNameOf(at(path), disposition, type)).toBe(name);
  });

  it('is never a path, hidden or empty', () => {
    fc.assert(
      fc.property(fc.string({ unit: ANY_CHARACTER }), fc.string(), (disposition, type) => {
        const name = fileNameOf(at('/x'), `attachment; filename="${disposition}"`, type);
        expect(name).not.toMatch(/[/\\\0\n]/);
        expect(name).not.toMatch(/^\./);
        expect(name.length).toBeGreaterThan(0);
        expect(Buffer.byteLength(name)).toBeLessThan(220);
      }),
    );
  });

  it('T13 fits into the limit of file systems, and a shortened name is not hidden', () => {
    const long = fileNameOf(at('/x'), `attachment; filename="${'😀'.repeat(100)}.png"`, undefined);
    expect(Buffer.byteLength(long)).toBeLessThanOrEqual(200);
    expect(long).toMatch(/^😀+\.png$/u);
    for (let dots = 100; dots < 220; dots++) {
      const name = fileNameOf(
        at('/x'),
        `attachment; filename="a${'.'.repeat(dots)}sh${'b'.repeat(50)}"`,
        undefined,
      );
      expect(name).toMatch(/^[^.]/);
    }
  });

  it('comes with the MIME type of the server, else of the extension', () => {
    expect(mimeOf('a.png', 'image/webp; charset=x')).toBe('image/webp');
    expect(mimeOf('a.M4A', 'application/octet-stream')).toBe('audio/mp4');
    expect(mimeOf('a', 'no type')).toBe('application/octet-stream');
  });
});
