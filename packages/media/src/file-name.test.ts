import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeFileName, safeFileName } from './file-name.ts';
import { MEDIA_TYPES, mediaType } from './media-types.ts';

describe('safeFileName', () => {
  it.each([
    ['IMG_0001.HEIC', 'image/jpeg', 'IMG_0001.jpg'],
    ['IMG_0001.JPEG', 'image/jpeg', 'IMG_0001.jpeg'],
    ['photo.png', 'text/html', 'photo.html'],
    ['setup.exe', 'application/octet-stream', 'setup.exe.bin'],
    ['photo.png', 'application/octet-stream', 'photo.bin'],
    ['Audio Message.caf', 'audio/mpeg', 'Audio Message.mp3'],
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
  ])('I8 names %j of type %s %j', (claimed, type, expected) => {
    expect(safeFileName(claimed, type)).toBe(expected);
  });

  it.each([
    ['dots in the middle', `a${'.'.repeat(1_000_000)}b`],
    ['spaces in the middle', `a${' .'.repeat(500_000)}b`],
    ['a separator at the end', `${'a'.repeat(1_000_000)}/`],
  ])('T54 names a file in linear time: %s', (_what, claimed) => {
    // Quadratic time would far exceed the timeout of the test.
    expect(safeFileName(claimed, 'image/png').length).toBeLessThan(100);
  });

  it('I8 turns any name into one short, visible path segment with a matching extension', () => {
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
});

describe('decodeFileName', () => {
  it.each([
    ['K%C3%A4se.png', 'Käse.png'],
    ['plain.png', 'plain.png'],
    ['100%.png', '100%.png'],
  ])('I8 decodes %j to %j', (value, expected) => {
    expect(decodeFileName(value)).toBe(expected);
  });
});
