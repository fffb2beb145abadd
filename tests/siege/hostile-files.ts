import { crc32, deflateSync } from 'node:zlib';

import { fixture } from '@footbridge/media/testing/images';

/** A file of at most this many bytes: `unit` over and over, after `start`. */
export function repeatedTo(unit: string, size: number, start = ''): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  const [head, part] = [Buffer.from(start, 'latin1'), Buffer.from(unit, 'latin1')];
  bytes.set(head.subarray(0, size));
  const rest = Buffer.alloc(Math.min(size - head.length, 65_536 - (65_536 % part.length)), part);
  for (let at = head.length; at < size; at += rest.length) bytes.set(rest.subarray(0, size - at), at);
  return bytes;
}

function chunk(type: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type), content]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  checksum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, checksum]);
}

const PNG = '\x89PNG\r\n\x1a\n';

/** A PNG of one colour. */
export function pngOf(width: number, height: number, { isApple = false, frames = 0 } = {}): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 6], 8);
  const data = deflateSync(Buffer.alloc(height * (1 + 4 * width)), { level: 9 });
  const control = Buffer.alloc(26);
  control.writeUInt32BE(width, 4);
  control.writeUInt32BE(height, 8);
  const count = Buffer.alloc(8);
  count.writeUInt32BE(frames);
  const frame = (index: number) => [
    chunk('fcTL', control),
    index === 0 ? chunk('IDAT', data) : chunk('fdAT', Buffer.concat([Buffer.alloc(4), data])),
  ];
  return Buffer.concat([
    Buffer.from(PNG, 'latin1'),
    ...(isApple ? [chunk('CgBI', Buffer.alloc(4))] : []),
    chunk('IHDR', header),
    ...(frames > 0
      ? [chunk('acTL', count), ...Array.from({ length: frames }, (_, index) => frame(index)).flat()]
      : [chunk('IDAT', isApple ? data.subarray(2) : data)]),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** A TIFF of PackBits, whose strips are the same bytes. */
function tiffBomb(width: number, height: number): Buffer {
  const data = Buffer.from(
    Array.from({ length: 4096 }, (_, index) => (index % 2 === 0 ? 0x81 : index & 0xff)),
  );
  const tags = {
    256: width,
    257: height,
    258: 8,
    259: 32_773,
    262: 2,
    273: 8,
    277: 3,
    278: 1,
    279: data.length,
  };
  const entries = Object.entries(tags).map(([tag, value]) => {
    const entry = Buffer.alloc(12);
    entry.writeUInt16LE(Number(tag), 0);
    entry.writeUInt16LE(4, 2);
    entry.writeUInt32LE(1, 4);
    entry.writeUInt32LE(value, 8);
    return entry;
  });
  const head = Buffer.from('II*\0\0\0\0\0', 'latin1');
  head.writeUInt32LE(8 + data.length, 4);
  return Buffer.concat([head, data, Buffer.from([entries.length, 0]), ...entries, Buffer.alloc(4)]);
}

export interface HostileFile {
  readonly name: string;
  readonly make: () => Uint8Array<ArrayBuffer>;
}

export const MOST_BYTES = 100_000_000;
const SIGNATURES: Readonly<Record<string, [start: string, unit: string]>> = {
  'zip headers': ['', 'PK\x03\x04\xff\xff\xff'],
  'zip entries': [`PK\x03\x04${'\0'.repeat(26)}`, `PK\x03\x04${'\0'.repeat(22)}\x05\0\0\0_rels`],
  'PNG chunks': [PNG, '\0\0\0\0tEXt\0\0\0\0'],
  'APNG frames': [
    `${PNG}\0\0\0\x0dIHDR\0\0\0\x08\0\0\0\x08\x08\x06\0\0\0\0\0\0\0\0\0\0\x08acTL\0\0\0\x02\0\0\0\0\0\0\0\0`,
    '\0\0\0\0fdAT\0\0\0\0',
  ],
  "Apple's PNG": [`${PNG}\0\0\0\x04CgBI\x50\0\x20\x02\x2b\xd5\xb3\x7f`, '\0\0\0\0IDAT\0\0\0\0'],
  JPEG: ['\xff\xd8\xff\xe0', '\xff\xe1\0\x02'],
  GIF: ['GIF89a\xff\xff\xff\xff\0\0\0', ',\0\0\0\0\xff\xff\xff\xff\0\x02\0'],
  WebP: ['RIFF\xff\xff\xff\x05WEBP', 'VP8 \0\0\0\0'],
  TIFF: ['II*\0\x08\0\0\0\xff\xff', '\x11\x01\x04\0\xff\xff\xff\0\x08\0\0\0'],
  HEIC: ['\0\0\0\x18ftypheic\0\0\0\0heicmif1', '\0\0\0\x08meta'],
  'HEIC tracks': ['\0\0\0\x18ftypmsf1\0\0\0\0hevcmsf1\x05\xf5\xe0\0moov', '\0\0\0\x10trak\0\0\0\x08mdia'],
  'MPEG-4': ['\0\0\0\x18ftypmp42\0\0\0\0mp42isom', '\0\0\0\x08free'],
  QuickTime: ['\0\0\0\x08wide', '\0\0\0\x08moov'],
  CAF: ['caff\0\x01\0\0', 'free\0\0\0\0\0\0\0\0'],
  AMR: ['#!AMR\n', '\x7c'],
  'AMR, wide': ['#!AMR-WB\n', '\x7c'],
  Ogg: ['OggS', 'OggS\x80theor'],
  WebM: ['\x1aE\xdf\xa3\x42\x82\x84webm', '\x1f\x43\xb6\x75\xff'],
  PDF: ['%PDF-1.7\n', '\n%PDF'],
  text: ['', '<svg:'],
  vCard: ['BEGIN:VCARD\r\n', 'BEGIN:VCARD\r\nPHOTO:\r\n '],
  zeros: ['', '\0'],
};

const copied = (bytes: Buffer) => new Uint8Array(bytes);

/** Files that take long or much of a reader, most of them as large as an upload may be. */
export const HOSTILE_FILES: readonly HostileFile[] = [
  ...Object.entries(SIGNATURES).map(([name, [start, unit]]) => ({
    name: `100 MB of ${name}`,
    make: () => repeatedTo(unit, MOST_BYTES, start),
  })),
  { name: '64 KiB of zip headers', make: () => repeatedTo('PK\x03\x04\xff\xff\xff', 65_536) },
  { name: '30 MB of AMR silence', make: () => repeatedTo('\x7c', 30_000_000, '#!AMR\n') },
  {
    name: '30 MB of HEIC tracks',
    make: () =>
      repeatedTo(
        '\0\0\0\x10trak\0\0\0\x08mdia',
        30_000_000,
        '\0\0\0\x18ftypmsf1\0\0\0\0hevcmsf1\x01\xc9\xc3\x80moov',
      ),
  },
  { name: 'a PNG of 10,000 × 10,000', make: () => copied(pngOf(10_000, 10_000)) },
  { name: "Apple's PNG of 3,600 × 3,600", make: () => copied(pngOf(3600, 3600, { isApple: true })) },
  { name: "Apple's PNG of 65,535 × 65,535", make: () => copied(pngOf(65_535, 1, { isApple: true })) },
  { name: 'an animation of 300 frames', make: () => copied(pngOf(570, 570, { frames: 300 })) },
  { name: 'a TIFF of 7,000 × 7,000', make: () => copied(tiffBomb(7000, 7000)) },
  { name: 'a HEIC grid that inflates', make: () => copied(fixture('bomb-grid.heic')) },
  { name: 'a HEIC photo of 48 megapixels', make: () => copied(fixture('photo-48mp.heic')) },
];
