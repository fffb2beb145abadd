import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mediaType } from './media-types.ts';
import type { MediaTypeName } from './media-types.ts';
import { sniff, SNIFF_BYTES } from './sniff.ts';

const fixture = (name: string) => readFileSync(new URL(`fixtures/${name}`, import.meta.url));
const latin1 = (text: string) => Buffer.from(text, 'latin1');
const chunk = (type: string, size = 0) =>
  Buffer.concat([Buffer.from([0, 0, size >> 8, size & 255]), latin1(type), Buffer.alloc(size + 4)]);
const pngOf = (...chunks: string[]) =>
  Buffer.concat([
    latin1('\x89PNG\r\n\x1a\n'),
    ...chunks.map((type) => chunk(type, type === 'IHDR' ? 13 : 8)),
  ]);
const ftyp = (major: string, ...compatible: string[]) => {
  const box = Buffer.concat([Buffer.alloc(4), latin1(`ftyp${major}\0\0\0\0${compatible.join('')}`)]);
  box.writeUInt32BE(box.length, 0);
  return Buffer.concat([box, Buffer.alloc(32)]);
};
const zipEntry = (name: string, content = '') => {
  const header = Buffer.alloc(30);
  header.write('PK\x03\x04', 'latin1');
  header.writeUInt32LE(content.length, 18);
  header.writeUInt32LE(content.length, 22);
  header.writeUInt16LE(name.length, 26);
  return Buffer.concat([header, latin1(name + content)]);
};
const bmp = Buffer.concat([latin1('BM'), Buffer.alloc(12), Buffer.from([40, 0, 0, 0]), Buffer.alloc(36)]);

const KNOWN: [string, Buffer, MediaTypeName][] = [
  ['a PNG', pngOf('IHDR', 'IDAT', 'IEND'), 'image/png'],
  ['an animated PNG', fixture('apng-3frames-alpha.png'), 'image/apng'],
  ['an animated PNG after a colour profile', pngOf('IHDR', 'iCCP', 'acTL', 'IDAT'), 'image/apng'],
  ['a PNG with acTL after its image data', pngOf('IHDR', 'IDAT', 'acTL'), 'image/png'],
  ["a PNG in Apple's variant", pngOf('CgBI', 'IHDR', 'IDAT'), 'image/x-apple-png'],
  ['a PNG cut off after its signature', pngOf(), 'image/png'],
  ['a JPEG', latin1('\xff\xd8\xff\xe1\0\x10Exif'), 'image/jpeg'],
  ['a GIF', fixture('apng-3frames-alpha.expected.gif'), 'image/gif'],
  ['a WEBP', latin1('RIFF\x1a\0\0\0WEBPVP8L'), 'image/webp'],
  ['an iPhone photo', ftyp('heic', 'mif1', 'MiHB', 'MiHE', 'MiPr', 'heic', 'tmap'), 'image/heic'],
  ['a generic HEIF', ftyp('mif1', 'heic'), 'image/heic'],
  ['an animated sticker', ftyp('hevc', 'msf1', 'hevc', 'mif1', 'heic'), 'image/heic-sequence'],
  ['a still that also holds a sequence', ftyp('heic', 'mif1', 'msf1'), 'image/heic-sequence'],
  ['an AVIF', ftyp('avif', 'mif1', 'miaf'), 'image/avif'],
  ['an AVIF under the generic brand', ftyp('mif1', 'avif'), 'image/avif'],
  ['a little-endian TIFF', latin1('II*\0\x08\0\0\0'), 'image/tiff'],
  ['a big-endian TIFF', latin1('MM\0*\0\0\0\x08'), 'image/tiff'],
  ['a bitmap', bmp, 'image/bmp'],
  ['an MP4', ftyp('isom', 'iso2', 'avc1', 'mp41'), 'video/mp4'],
  ['an iPhone video', ftyp('qt  '), 'video/quicktime'],
  ['an old QuickTime file', latin1('\0\0\0\x08wide\0\0\0\0mdat'), 'video/quicktime'],
  ['a 3GP from an MMS', ftyp('3gp4', 'isom'), 'video/3gpp'],
  [
    'a WEBM',
    latin1('\x1aE\xdf\xa3\x9fB\x86\x81\x01B\xf7\x81\x01B\xf2\x81\x04B\xf3\x81\x08B\x82\x84webm'),
    'video/webm',
  ],
  ['an M4A', fixture('voice.m4a'), 'audio/mp4'],
  ['a CAF voice message', fixture('voice_opus.caf'), 'audio/x-caf'],
  ['an AMR voice message', fixture('voice.amr'), 'audio/amr'],
  ['a wide-band AMR', latin1('#!AMR-WB\n\x04'), 'audio/amr-wb'],
  ['an MP3 with a tag', latin1('ID3\x04\0'), 'audio/mpeg'],
  ['an MP3 without a tag', latin1('\xff\xfb\x90\x64'), 'audio/mpeg'],
  ['an AAC stream', latin1('\xff\xf1\x50\x80'), 'audio/aac'],
  ['a WAV', latin1('RIFF\x24\0\0\0WAVEfmt '), 'audio/wav'],
  ['an AIFF', latin1('FORM\0\0\0\0AIFFCOMM'), 'audio/aiff'],
  ['a FLAC', latin1('fLaC\0\0\0\x22'), 'audio/flac'],
  ['an Ogg audio file', latin1(`OggS${'\0'.repeat(24)}OpusHead`), 'audio/ogg'],
  ['an Ogg video', latin1(`OggS${'\0'.repeat(24)}\x80theora`), 'video/ogg'],
  ['a PDF', latin1('%PDF-1.7\n'), 'application/pdf'],
  ['a PDF after a line of other bytes', latin1('\x01\x02\n%PDF-1.4\n'), 'application/pdf'],
  ['a ZIP', zipEntry('photo.jpg'), 'application/zip'],
  [
    'a Word document',
    Buffer.concat([zipEntry('[Content_Types].xml'), zipEntry('word/document.xml')]),
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  ],
  [
    'a spreadsheet',
    Buffer.concat([zipEntry('_rels/.rels'), zipEntry('xl/workbook.xml')]),
    'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  ],
  [
    'an OpenDocument text',
    zipEntry('mimetype', 'application/vnd.oasis.opendocument.text'),
    'application/vnd.oasis.opendocument.text',
  ],
  ['an old Office document', latin1('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'), 'application/x-cfb'],
  ['a contact', latin1('BEGIN:VCARD\r\nVERSION:3.0\r\n'), 'text/vcard'],
  ['an appointment', latin1('BEGIN:VCALENDAR\r\nVERSION:2.0\r\n'), 'text/calendar'],
  ['plain text', Buffer.from('Grüße aus Köln 👋\n'), 'text/plain'],
  ['text that mentions a comparison', Buffer.from('if a < b then stop'), 'text/plain'],
  ['an HTML page', Buffer.from('<!doctype html><title>x</title>'), 'text/html'],
  [
    'an HTML page after a byte order mark and white space',
    Buffer.from('\uFEFF \n<p onclick=x>'),
    'text/html',
  ],
  ['an HTML page that starts as text', Buffer.from('hello <script>alert(1)</script>'), 'text/html'],
  ['an SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'), 'image/svg+xml'],
  ['an SVG with a prolog', Buffer.from('<?xml version="1.0"?><!-- x --><svg/>'), 'image/svg+xml'],
  [
    'an SVG with a namespace prefix',
    Buffer.from('<?xml version="1.0"?><s:svg xmlns:s="x"/>'),
    'image/svg+xml',
  ],
  ['XML', Buffer.from('<?xml version="1.0"?><plist/>'), 'application/xml'],
  ['XHTML', Buffer.from('<?xml version="1.0"?><html xmlns="x"/>'), 'text/html'],
  ['a Windows program', latin1('MZ\x90\0\x03\0\0\0'), 'application/octet-stream'],
  ['UTF-16', Buffer.from('\uFEFF<script>', 'utf16le'), 'application/octet-stream'],
  ['an empty file', Buffer.alloc(0), 'application/octet-stream'],
];

describe('sniff', () => {
  it.each(KNOWN)('I8 recognises %s', (_, bytes, type) => {
    expect(sniff(bytes)).toBe(type);
  });

  it.each<[string, Buffer]>([
    ['a GIF that is also a script', latin1('GIF89a/*\x01\0\0*/=1;alert(1)//')],
    [
      'a PNG with an HTML page after its end',
      Buffer.concat([fixture('apng-3frames-alpha.png'), latin1('<script>alert(1)</script>')]),
    ],
    [
      'a JPEG with an HTML page in its comment',
      latin1('\xff\xd8\xff\xfe\0\x20<html><script>alert(1)</script>'),
    ],
    ['a WAV with an HTML page inside', latin1('RIFF\x24\0\0\0WAVE<html><script>')],
  ])('I8 types %s by its first bytes', (_, bytes) => {
    expect(mediaType(sniff(bytes)).served).toMatch(/^(image\/(gif|png|jpeg)|audio\/wav)$/);
  });

  it('I8 never returns an executable type that is served inline', () => {
    const safe = /^(image\/(?!svg)|video\/|audio\/|text\/plain; charset=utf-8$)/;
    fc.assert(
      fc.property(
        fc.constantFrom(...KNOWN.map(([, bytes]) => bytes)),
        fc.uint8Array({ maxLength: 200 }),
        fc.nat(300),
        (known, noise, cut) => {
          const type = mediaType(sniff(Buffer.concat([known.subarray(0, cut), noise])));
          expect(type.disposition === 'attachment' || safe.test(type.served)).toBe(true);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('I8 looks at the first bytes only', () => {
    const text = Buffer.alloc(2 * SNIFF_BYTES, 'a < b & c ');
    text.write('<script>', SNIFF_BYTES);
    expect(sniff(text)).toBe('text/plain');
    text.write('<script>', SNIFF_BYTES - 8);
    expect(sniff(text)).toBe('text/html');
  });

  it('I8 accepts a character that is cut off at the end of the first bytes', () => {
    const text = Buffer.from('é'.repeat(SNIFF_BYTES));
    expect(sniff(text.subarray(1))).toBe('application/octet-stream');
    expect(sniff(Buffer.concat([latin1('a'), text]))).toBe('text/plain');
  });
});
