import { crc32, deflateSync } from 'node:zlib';

import { latin1, u16, u32, u64 } from './make.ts';
import type { Make } from './make.ts';

const NAMES = [
  'mimetype',
  '[Content_Types].xml',
  '_rels/',
  'word/',
  'xl/',
  'ppt/',
  'a',
  '',
  'PK\x03\x04',
  'PK\x05\x06',
];

export function zip(make: Make): Buffer {
  const entry = (name = latin1(make.pick(NAMES).repeat(make.pick([1, 1, 1, 30])))) =>
    Buffer.concat([
      latin1('PK\x03\x04'),
      make.bytes(make.chance(0.95) ? 22 : make.number(22)),
      u16(make.length(name.length, 0xffff), 'LE'),
      u16(make.length(0, 0xffff), 'LE'),
      name,
      latin1(
        make.pick([
          '',
          'application/epub+zip',
          'application/vnd.oasis.opendocument.text',
          'PK\x01\x02',
          'PK\x07\x08',
          'PK',
        ]),
      ),
    ]);
  const overlapping = () =>
    Buffer.concat([latin1('PK\x03\x04'), Buffer.alloc(make.number(30), make.pick([0, 0x50, 0xff]))]);
  return Buffer.concat([
    entry(make.chance(0.3) ? latin1('mimetype') : undefined),
    make.fill(() => (make.chance(0.8) ? entry() : overlapping())),
    latin1('PK\x05\x06'),
    make.bytes(18),
  ]);
}

const SIDES = [0, 1, 33, 200, 20_000, 0xffff, 0x7fff_ffff, 0xffff_ffff];
const CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
const PNG = latin1('\x89PNG\r\n\x1a\n');

function chunk(make: Make, type: string, content: Buffer): Buffer {
  const named = Buffer.concat([latin1(type), content]);
  const checksum = make.length(crc32(named));
  return Buffer.concat([u32(make.length(content.length)), named, u32(checksum)]);
}

/** Width and height: at most one of them is large, because an image with many pixels may take long. */
function sides(make: Make): [width: number, height: number] {
  const small = () => 1 + make.number(24);
  const other = make.chance(0.9) ? small() : make.pick(SIDES);
  return make.chance(0.5) ? [small(), other] : [other, small()];
}

/** A PNG, or Apple's variant of it, or an animation: their chunks may come in any order and number. */
export function png(make: Make): Buffer {
  const [width, height] = sides(make);
  const [depth, colour] = make.chance(0.9)
    ? make.pick([
        [8, 6],
        [8, 2],
        [8, 0],
        [8, 3],
        [1, 0],
        [2, 3],
        [16, 4],
        [16, 6],
      ] as const)
    : [make.number(20), make.number(8)];
  const header = Buffer.concat([
    u32(width),
    u32(height),
    Buffer.from([depth, colour, 0, 0, make.chance(0.2) ? 1 : 0]),
  ]);
  /** As many bytes as the header announces, at most of a small image. */
  const pixels = (wide: number, high: number) => {
    const [columns, rows] = [Math.min(wide, 300), Math.min(high, 300)];
    const bits = (CHANNELS[colour] ?? 1) * depth;
    const raw = Buffer.alloc(
      rows * (1 + Math.ceil((columns * bits) / 8)),
      make.chance(0.7) ? 0 : make.number(6),
    );
    return make.chance(0.9) ? deflateSync(raw, { level: 1 }) : make.deflated(100_000);
  };
  const control = () => {
    const [wide, high] = make.chance(0.8) ? [width, height] : sides(make);
    const numbers = [make.number(100), wide, high, make.length(0), make.length(0)].map((value) => u32(value));
    return Buffer.concat([
      ...numbers,
      u16(make.number(100)),
      u16(make.number(2) * 100),
      Buffer.from([make.number(4), make.number(3)]),
    ]);
  };
  const piece = () => {
    const type = make.pick([
      'IDAT',
      'IDAT',
      'fcTL',
      'fdAT',
      'PLTE',
      'tRNS',
      'tEXt',
      'iTXt',
      'acTL',
      'CgBI',
      'IHDR',
      'IEND',
    ]);
    if (type === 'IHDR') return chunk(make, type, header);
    if (type === 'IDAT') return chunk(make, type, pixels(width, height));
    if (type === 'fdAT') return chunk(make, type, Buffer.concat([u32(1), pixels(width, height)]));
    if (type === 'fcTL') return chunk(make, type, control());
    if (type === 'acTL') return chunk(make, type, Buffer.concat([u32(make.length(3)), u32(make.length(0))]));
    return chunk(make, type, make.bytes(make.pick([0, 0, 3, 48, 256])));
  };
  const animation = make.chance(0.4)
    ? [chunk(make, 'acTL', Buffer.concat([u32(2), u32(0)])), chunk(make, 'fcTL', control())]
    : [];
  return Buffer.concat([
    PNG,
    ...(make.chance(0.2) ? [chunk(make, 'CgBI', make.bytes(4))] : []),
    chunk(make, 'IHDR', header),
    ...animation,
    chunk(make, 'IDAT', pixels(width, height)),
    ...(make.chance(0.5) ? [make.fill(piece, make.chance(0.5) ? 100 : make.size)] : []),
    chunk(make, 'IEND', Buffer.alloc(0)),
  ]);
}

const TIFF_TAGS = [
  256, 257, 258, 259, 262, 273, 277, 278, 279, 284, 317, 320, 322, 323, 324, 325, 338, 34_675,
];
const TIFF_LISTS = new Set([258, 273, 279, 320, 324, 325, 34_675]);
const TIFF_TYPES = [1, 2, 3, 4, 7, 5, 0, 12];
const PACK_BITS = 32_773;
const TIFF_COMPRESSIONS = [1, 5, 8, PACK_BITS, 32_946, 7];

/** The lists of a TIFF may lie on each other, on the directory, and beyond the end; a page may follow itself. */
export function tiff(make: Make): Buffer {
  const order = make.pick(['LE', 'BE'] as const);
  const [width, height] = sides(make);
  const compression = make.pick(TIFF_COMPRESSIONS);
  const packed = make.chance(0.3)
    ? make.bytes(make.number(make.size))
    : compression === PACK_BITS
      ? Buffer.alloc(make.size, make.pick([0, 0x80, 0xff]))
      : make.deflated(make.size);
  const start = 8 + packed.length;
  const value = (tag: number) => {
    if (tag === 256 || tag === 322) return width;
    if (tag === 257 || tag === 323) return height;
    if (tag === 278) return make.pick([height, 1]);
    if (tag === 258) return make.pick([1, 8, 8, 16, 4]);
    if (tag === 259) return compression;
    if (tag === 262) return make.number(6);
    if (tag === 277) return make.pick([1, 3, 4, 4, 8, 9]);
    if (tag === 273 || tag === 324) return 8;
    if (tag === 279 || tag === 325) return packed.length;
    return make.number(4);
  };
  const isTiled = make.chance(0.2);
  const entry = (tag: number) => {
    const isList = make.chance(TIFF_LISTS.has(tag) ? 0.4 : 0.02);
    const type = isList ? make.pick(TIFF_TYPES) : 4;
    const count = isList ? make.length(make.number(packed.length + 1)) : 1;
    const inside = isList ? 8 + make.number(start) : make.length(value(tag));
    return Buffer.concat([u16(tag, order), u16(type, order), u32(count, order), u32(inside, order)]);
  };
  const tags = TIFF_TAGS.filter((tag) => (tag >= 322 && tag <= 325 ? isTiled : make.chance(0.98)));
  const entries = Buffer.concat([
    ...tags.map(entry),
    ...(make.chance(0.1) ? [make.fill(() => entry(make.pick(TIFF_TAGS)))] : []),
  ]);
  return Buffer.concat([
    latin1(order === 'LE' ? 'II*\0' : 'MM\0*'),
    u32(make.length(start), order),
    packed,
    u16(make.length(entries.length / 12, 0xffff), order),
    entries,
    u32(make.pick([0, start, make.length(start)]), order),
  ]);
}

const BOXES = [
  'ftyp',
  'meta',
  'hdlr',
  'iinf',
  'iloc',
  'iprp',
  'ipco',
  'ispe',
  'pitm',
  'moov',
  'trak',
  'tkhd',
  'mvhd',
  'mdia',
  'mdhd',
  'minf',
  'stbl',
  'stts',
  'stsd',
  'mdat',
  'free',
  'wide',
];
const BRANDS = ['heic', 'mif1', 'hevc', 'msf1', 'avif', 'isom', 'mp42', 'qt  ', 'M4A ', '3gp4', 'xxxx'];

function box(make: Make, type: string, content: Buffer): Buffer {
  const isLong = make.chance(0.1);
  const size = make.chance(0.05) ? 0 : make.length(content.length + (isLong ? 16 : 8));
  const head = isLong
    ? [u32(1), latin1(type), u64(make.chance(0.9) ? size : 2 ** 53)]
    : [u32(size), latin1(type)];
  return Buffer.concat([...head, content]);
}

/** The boxes of HEIC, MPEG-4 and QuickTime, nested in any way. */
export function iso(make: Make): Buffer {
  const nested = (depth: number): Buffer => {
    const type = make.pick(BOXES);
    if (depth > 6 || make.chance(0.4)) return box(make, type, make.bytes(make.pick([0, 4, 20, 24, 44, 60])));
    return box(
      make,
      type,
      make.fill(() => nested(depth + 1), make.number(200)),
    );
  };
  /** A track as the reader of animations looks for it. */
  const track = () => {
    const table = box(
      make,
      'stbl',
      Buffer.concat([
        box(make, 'stsd', make.bytes(make.pick([44, 44, 43, 0]))),
        box(
          make,
          'stts',
          make.fill(() => Buffer.concat([u32(make.length(1)), u32(make.length(1))]), make.pick([8, 16, 800])),
        ),
      ]),
    );
    const media = Buffer.concat([
      box(
        make,
        'hdlr',
        Buffer.concat([Buffer.alloc(8), latin1(make.pick(['pict', 'vide', 'soun'])), Buffer.alloc(12)]),
      ),
      box(make, 'mdhd', make.bytes(24)),
      box(make, 'minf', table),
    ]);
    return box(make, 'trak', Buffer.concat([box(make, 'tkhd', make.bytes(24)), box(make, 'mdia', media)]));
  };
  const movie = () =>
    box(make, 'mvhd', Buffer.concat([u32(make.pick([0, 0x0100_0000])), make.bytes(make.pick([16, 28]))]));
  const brands = make.fill(() => latin1(make.pick(BRANDS)), make.pick([4, 12, make.size]));
  const deep = () => {
    let content: Buffer = make.bytes(8);
    const type = make.pick(BOXES);
    for (let size = 0; size < Math.min(make.size, MEDIUM_NESTING); size += 8)
      content = box(make, type, content);
    return content;
  };
  return Buffer.concat([
    box(make, 'ftyp', Buffer.concat([latin1(make.pick(BRANDS)), u32(0), brands])),
    make.chance(0.3)
      ? box(make, 'moov', Buffer.concat([movie(), make.fill(track)]))
      : make.chance(0.1)
        ? deep()
        : make.fill(() => nested(0)),
  ]);
}

const MEDIUM_NESTING = 2000;

const CAF_FORMATS = ['opus', 'aac ', 'lpcm', 'alac', 'xxxx'];

export function caf(make: Make): Buffer {
  const part = (type: string, content: Buffer) =>
    Buffer.concat([
      latin1(type),
      make.chance(0.05) ? u64(make.pick([-1, -(2 ** 62), 2 ** 62])) : u64(make.length(content.length)),
      content,
    ]);
  const rate = Buffer.alloc(8);
  rate.writeDoubleBE(make.pick([24_000, 24_000, 48_000, 8000, 0, -1, NaN, 1e300]));
  const description = Buffer.concat([
    rate,
    latin1(make.pick(CAF_FORMATS)),
    ...[
      make.number(4),
      make.length(0),
      make.length(480),
      make.pick([1, 2, 0, 9]),
      make.pick([0, 16, 8, 32]),
    ].map((value) => u32(value)),
  ]);
  const table = Buffer.concat([
    u64(make.length(100)),
    u64(make.length(48_000)),
    u32(make.length(0)),
    u32(make.length(0)),
    make.fill(() => Buffer.from([make.pick([0, 1, 40, 0x7f, 0x80, 0xff])])),
  ]);
  const data = make.bytes(Math.min(make.size, 20_000));
  const parts = [part('desc', description), part('pakt', table), part('data', Buffer.concat([u32(0), data]))];
  if (make.chance(0.2)) parts.reverse();
  return Buffer.concat([
    latin1('caff'),
    u16(1),
    u16(0),
    ...parts.slice(make.chance(0.1) ? 1 : 0),
    ...(make.chance(0.3)
      ? [
          make.fill(() =>
            part(make.pick(['free', 'desc', 'data', 'pakt', 'strg']), make.bytes(make.number(9))),
          ),
        ]
      : []),
  ]);
}

export function amr(make: Make): Buffer {
  const frame = () => {
    const mode = make.chance(0.8) ? make.number(10) : make.number(16);
    return Buffer.concat([
      Buffer.from([(mode << 3) | make.number(8)]),
      make.bytes(make.pick([0, 12, 13, 31, 32, 60])),
    ]);
  };
  return Buffer.concat([latin1(make.pick(['#!AMR\n', '#!AMR-WB\n', '#!AMR_MC1.0\n'])), make.fill(frame)]);
}

export function ogg(make: Make): Buffer {
  const page = () => {
    const lacing = make.bytes(make.pick([0, 1, 3, 255]));
    const content = make.pick(['\x80theora', '\x80theor', 'OpusHead\x01', '\x01vorbis', 'OggS', '']);
    return Buffer.concat([
      latin1('OggS'),
      Buffer.from([0, make.number(8)]),
      make.bytes(20),
      Buffer.from([make.length(lacing.length, 255)]),
      lacing,
      latin1(content),
    ]);
  };
  return Buffer.concat([latin1('OggS'), make.fill(page)]);
}

const SIGNATURES = [
  '\xff\xd8\xff',
  'GIF89a',
  'RIFF\0\0\0\0WEBP',
  'RIFF\0\0\0\0WAVE',
  'FORM\0\0\0\0AIFF',
  'BM',
  'fLaC',
  'ID3',
  '\xff\xfb\x90\0',
  '\xff\xf1',
  '\x1aE\xdf\xa3',
  '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1',
  '\x1f\x8b\x08',
  "7z\xbc\xaf'\x1c",
  'Rar!\x1a\x07',
  '%PDF-',
  '\n%PDF-',
  '{\\rtf',
  'webm',
  'PK\x03\x04',
  'OggS',
  '\0\0\0\x18ftyp',
  'caff\0\x01',
];

/** The signatures of many formats, repeated and mixed. */
export function signatures(make: Make): Buffer {
  return make.fill(() => latin1(make.pick(SIGNATURES) + make.pick(['', '\0', '\n', '\xff\xff'])));
}

/** The segments of a JPEG, and other pictures that a sticker may be. */
export function picture(make: Make): Buffer {
  const segment = () => {
    const content = make.bytes(make.pick([0, 9, 15, 60]));
    return Buffer.concat([
      Buffer.from([0xff, make.pick([0xc0, 0xc2, 0xc4, 0xda, 0xdb, 0xe0, 0xe1, 0xd9, 0xff])]),
      u16(make.length(content.length + 2, 0xffff)),
      content,
    ]);
  };
  const start = make.pick(['\xff\xd8', '\xff\xd8', 'GIF89a', '\0\0\0\x18ftypheic', '\x89PNG\r\n\x1a\n']);
  return Buffer.concat([latin1(start), make.fill(segment), latin1(make.pick(['\xff\xd9', '\x3b', '']))]);
}

/** What a decoder in the child process sends back: parts, then a reply. */
export function conversionReply(make: Make): Buffer {
  const reply = make.pick([
    '{"ok":true,"type":"image/png"}',
    '{"ok":false,"reason":"x"}',
    '{"ok":true}',
    '[[[[',
    '{}',
  ]);
  const frame = () => {
    const isReply = make.chance(0.2);
    const content = isReply ? latin1(reply) : make.bytes(make.number(200));
    return Buffer.concat([
      Buffer.from([isReply ? 3 : make.pick([2, 2, 2, 0, 9])]),
      u32(make.length(content.length)),
      content,
    ]);
  };
  return Buffer.concat([make.fill(frame), Buffer.from([3]), u32(make.length(reply.length)), latin1(reply)]);
}
