import { latin1, u16, u32 } from './make.ts';
import type { Make } from './make.ts';

const KEYS = ['rp', 'ep', 'rq', 'otr', 'ust', ''];
const [NULL, INTEGER, REAL, DATE, DATA, ASCII, UNICODE, UID, ARRAY, SET, DICTIONARY] = [
  0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 13,
];
const KINDS = [
  ARRAY,
  ARRAY,
  DICTIONARY,
  ASCII,
  ASCII,
  INTEGER,
  INTEGER,
  INTEGER,
  NULL,
  REAL,
  DATE,
  DATA,
  UNICODE,
  UID,
  SET,
];
const MAX_OBJECTS = 200;

/** A binary property list whose objects refer to each other, to themselves, to the same one over and over, or to none. */
export function propertyList(make: Make): Buffer {
  const count = 2 + make.number(make.pick([4, 40, MAX_OBJECTS]));
  const list = () => u16(2 + make.number(2));
  const referenceBytes = make.chance(0.98) ? 2 : make.number(9);
  const reference = () => {
    const to = make.chance(0.999) ? make.number(count + 2) : make.number(0x1_0000);
    return referenceBytes === 1 ? Buffer.from([to & 0xff]) : u16(to);
  };
  const object = () => {
    const kind = make.pick(KINDS);
    const length = make.pick([0, 1, 2, make.number(20), Math.floor(make.size / 4)]);
    if (kind === ASCII && make.chance(0.5)) return counted(make, kind, latin1(make.pick(KEYS)), 1);
    if (kind === INTEGER)
      return Buffer.concat([
        Buffer.from([(kind << 4) | (make.chance(0.99) ? make.number(4) : make.number(16))]),
        make.bytes(8),
      ]);
    if (kind === ARRAY || kind === SET) return counted(make, kind, references(make, reference, length), 2);
    if (kind === DICTIONARY) return counted(make, kind, references(make, reference, 2 * length), 4);
    return counted(make, kind, Buffer.alloc(length, 0x61), 1);
  };
  const keys = KEYS.slice(0, 2).map((key) => counted(make, ASCII, latin1(key), 1));
  // The root comes last: an entry for each list that is looked up.
  const root = counted(
    make,
    DICTIONARY,
    Buffer.concat([u16(0), u16(1), ...(make.chance(0.2) ? [make.fill(reference)] : []), list(), list()]),
    4,
  );
  const lists = [0, 1].map(() =>
    counted(make, ARRAY, references(make, reference, make.pick([0, 3, Math.floor(make.size / 4)])), 2),
  );
  const objects = [...keys, ...lists, ...Array.from({ length: count - 2 }, object), root];
  const header = latin1('bplist00');
  let at = header.length;
  const offsets = objects.map((bytes) => {
    const offset = u32(make.length(at));
    at += bytes.length;
    return offset;
  });
  const trailer = Buffer.alloc(32);
  trailer[6] = make.chance(0.98) ? 4 : make.number(9);
  trailer[7] = referenceBytes;
  trailer.writeUInt32BE(make.length(objects.length), 12);
  trailer.writeUInt32BE(make.length(objects.length - 1), 20);
  trailer.writeUInt32BE(make.length(at), 28);
  return Buffer.concat([header, ...objects, ...offsets, trailer]);
}

function references(make: Make, reference: () => Buffer, count: number): Buffer {
  return make.fill(reference, 2 * count);
}

/** An object with its number of items or bytes in front. */
function counted(make: Make, kind: number, content: Buffer, itemBytes: number): Buffer {
  const count = make.length(Math.floor(content.length / itemBytes));
  const head =
    count < 15
      ? Buffer.from([(kind << 4) | count])
      : Buffer.concat([Buffer.from([(kind << 4) | 15, 0x12]), u32(count)]);
  return Buffer.concat([head, content]);
}

const CLASSES = [
  'NSMutableAttributedString',
  'NSAttributedString',
  'NSObject',
  'NSMutableString',
  'NSString',
  'NSDictionary',
  'NSNumber',
  'NSValue',
  'NSData',
  'NSArray',
  'NSURL',
  'X',
];
const TEXTS = [
  'foo',
  '__kIMMessagePartAttributeName',
  '__kIMFileTransferGUIDAttributeName',
  'IMAudioTranscription',
  '\xf0\x9f\x98\x83',
  '',
];
const TYPES = [
  '@',
  '+',
  'i',
  'iI',
  '*',
  'c',
  's',
  'q',
  'd',
  'f',
  '#',
  ':',
  '!',
  '@@@@@@@@',
  '[12c]',
  '[3i]',
  '[100000000!]',
  '[9[9[9i]]]',
  '{=}',
  '{a=ii}',
  '{',
  '[',
];
const [NEW, NIL, END, FIRST_REFERENCE, TWO_BYTES, FOUR_BYTES] = [0x84, 0x85, 0x86, 0x92, 0x81, 0x82];

/** The tokens of a typedstream, mostly in an order in which Messages writes them. */
export function typedStream(make: Make): Buffer {
  const number = (value: number) => {
    if (value < 0x80 && make.chance(0.9)) return Buffer.from([value]);
    return value < 0x1_0000 && make.chance(0.9)
      ? Buffer.concat([Buffer.from([TWO_BYTES]), u16(value, 'LE')])
      : Buffer.concat([Buffer.from([FOUR_BYTES]), u32(value, 'LE')]);
  };
  const text = (value: string) => {
    const bytes = latin1(value);
    return Buffer.concat([number(make.length(bytes.length)), bytes]);
  };
  const reference = () =>
    Buffer.from([make.chance(0.9) ? FIRST_REFERENCE + make.number(20) : make.number(256)]);
  const type = () => Buffer.concat([Buffer.from([NEW]), text(make.pick(TYPES))]);
  const classes = () => {
    const names = Array.from({ length: 1 + make.number(3) }, () => make.pick(CLASSES));
    return Buffer.concat([
      ...names.flatMap((name) => [Buffer.from([NEW]), text(name), number(make.number(2))]),
      make.chance(0.7) ? Buffer.from([NIL]) : reference(),
    ]);
  };
  const token = (): Buffer => {
    const kind = make.number(9);
    if (kind < 2) return Buffer.concat([Buffer.from([NEW]), classes()]);
    if (kind === 2) return type();
    if (kind === 3) return reference();
    if (kind === 4) return Buffer.from([make.pick([END, END, NIL, NEW])]);
    if (kind === 5) return Buffer.concat([Buffer.from([NEW, 1, 0x2b]), text(make.pick(TEXTS))]);
    if (kind === 6)
      return Buffer.concat([
        Buffer.from([NEW, 2, 0x69, 0x49]),
        number(make.number(9)),
        number(make.length(3)),
      ]);
    if (kind === 7) return text(make.pick(TEXTS).repeat(make.pick([1, 1, 100])));
    return number(make.length(make.number(200)));
  };
  return Buffer.concat([
    latin1('\x04\x0bstreamtyped'),
    Buffer.from([TWO_BYTES, 0xe8, 3]),
    ...(make.chance(0.8) ? [Buffer.from([NEW, 1, 0x40, NEW, NEW]), classes()] : []),
    make.fill(token),
  ]);
}
