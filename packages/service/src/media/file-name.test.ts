import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contentDisposition, fileNameFromHeader, safeFileName } from './file-name.ts';
import { MEDIA_TYPES, mediaType } from './media-types.ts';

describe('file names', () => {
  it.each([
    ['IMG_0001.HEIC', 'image/jpeg', 'IMG_0001.jpg'],
    ['IMG_0001.JPEG', 'image/jpeg', 'IMG_0001.jpeg'],
    ['photo.png', 'text/html', 'photo.html'],
    ['setup.exe', 'application/octet-stream', 'setup.exe.bin'],
    ['photo.png', 'application/octet-stream', 'photo.bin'],
    ['Audio Message.caf', 'audio/wav', 'Audio Message.wav'],
    ['v1.2 notes', 'text/plain', 'v1.2 notes.txt'],
    ['list.csv', 'text/plain', 'list.csv'],
    ['../../etc/passwd', 'text/plain', 'passwd.txt'],
    ['C:\\temp\\a.txt', 'text/plain', 'a.txt'],
    ['invoice\u202Efdp.exe', 'application/octet-stream', 'invoicefdp.exe.bin'],
    ['a\r\nSet-Cookie: x.png', 'image/png', 'aSet-Cookie_ x.png'],
    ['.htaccess', 'text/plain', 'htaccess.txt'],
    ['...', 'image/png', 'file.png'],
    ['', 'image/png', 'file.png'],
    ['CON.png', 'image/png', '_CON.png'],
    ['Käse 🧀.png', 'image/png', 'Käse 🧀.png'],
    ['x.png', 'application/x-never-heard-of', 'x.bin'],
  ])('I8 %j that is %s is called %j', (claimed, type, expected) => {
    expect(safeFileName(claimed, type)).toBe(expected);
  });

  it('I8 any name becomes a short, single, visible path segment with a true ending', () => {
    const types = fc.constantFrom(...Object.keys(MEDIA_TYPES));
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), types, (claimed, type) => {
        const name = safeFileName(claimed, type);
        expect(name).not.toMatch(/[\p{C}/\\<>:"|?*%;]|^\.|\.\.$/u);
        expect(Buffer.byteLength(name)).toBeLessThanOrEqual(340);
        expect(mediaType(type).extensions).toContain(name.slice(name.lastIndexOf('.') + 1));
        expect(safeFileName(name, type)).toBe(name);
      }),
    );
  });

  it('I8 the disposition names the file for old and new readers alike', () => {
    expect(contentDisposition('inline', 'a b.png')).toBe('inline; filename="a b.png"');
    expect(contentDisposition('attachment', 'Käse (1).png')).toBe(
      `attachment; filename="K_se (1).png"; filename*=UTF-8''K%C3%A4se%20%281%29.png`,
    );
  });

  it('I8 no name breaks out of the disposition header', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (name) => {
        expect(contentDisposition('attachment', name)).toMatch(
          /^attachment; filename="[^"\\\r\n]*"(; filename\*=UTF-8''[\w.!~%-]*)?$/,
        );
      }),
    );
  });

  it('I8 the name header is percent-encoded, and a stray percent sign does no harm', () => {
    expect(fileNameFromHeader('K%C3%A4se.png')).toBe('Käse.png');
    expect(fileNameFromHeader('100%.png')).toBe('100%.png');
    expect(fileNameFromHeader(undefined)).toBe('');
  });
});
