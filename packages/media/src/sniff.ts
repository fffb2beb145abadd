import type { MediaTypeName } from './media-types.ts';

/** `sniff` looks at this many bytes at most. */
export const SNIFF_BYTES = 64 * 1024;

/**
 * Returns the type of a file from its first bytes. The name and the declared type are ignored.
 * A polyglot gets the type of its first bytes, which is safe because it is served as that type with `nosniff`.
 */
export function sniff(head: Uint8Array): MediaTypeName {
  const bytes = Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, SNIFF_BYTES));
  return (
    image(bytes) ??
    isoMedia(bytes) ??
    sound(bytes) ??
    container(bytes) ??
    document(bytes) ??
    text(bytes) ??
    'application/octet-stream'
  );
}

const ascii = (bytes: Buffer, start: number, end: number) => bytes.toString('latin1', start, end);
const startsWith = (bytes: Buffer, signature: string) => ascii(bytes, 0, signature.length) === signature;

function image(bytes: Buffer): MediaTypeName | undefined {
  if (startsWith(bytes, '\x89PNG\r\n\x1a\n')) return png(bytes);
  if (startsWith(bytes, '\xff\xd8\xff')) return 'image/jpeg';
  if (startsWith(bytes, 'GIF87a') || startsWith(bytes, 'GIF89a')) return 'image/gif';
  if (startsWith(bytes, 'RIFF') && ascii(bytes, 8, 12) === 'WEBP') return 'image/webp';
  if (startsWith(bytes, 'II*\0') || startsWith(bytes, 'MM\0*')) return 'image/tiff';
  if (startsWith(bytes, 'BM') && bytes.length >= 18 && isBitmapHeader(bytes.readUInt32LE(14))) {
    return 'image/bmp';
  }
  return undefined;
}

/** `BM` may also begin a text; only a bitmap has one of these header sizes next. */
const isBitmapHeader = (size: number) => [12, 40, 52, 56, 64, 108, 124].includes(size);

/** An animation has `acTL` before the first image data; Apple's PNG variant begins with `CgBI`. */
function png(bytes: Buffer): MediaTypeName {
  for (let at = 8; at + 8 <= bytes.length; at += 12 + bytes.readUInt32BE(at)) {
    const chunk = ascii(bytes, at + 4, at + 8);
    if (chunk === 'CgBI') return 'image/x-apple-png';
    if (chunk === 'acTL') return 'image/apng';
    if (chunk === 'IDAT') break;
  }
  return 'image/png';
}

const SEQUENCE_BRANDS = new Set(['hevc', 'hevx', 'hevm', 'hevs', 'msf1']);
const STILL_BRANDS = new Set(['heic', 'heix', 'heim', 'heis', 'mif1', 'mif2', 'miaf']);
const AV1_BRANDS = new Set(['avif', 'avis']);
const MP4_BRANDS = /^(iso[m0-9a-f]|mp4[12]|mp71|avc1|M4V[ HP]|MSNV|dash|f4v )$/;

function isoMedia(bytes: Buffer): MediaTypeName | undefined {
  if (bytes.length < 12) return undefined;
  const box = ascii(bytes, 4, 8);
  if (box !== 'ftyp') {
    // QuickTime files older than `ftyp` begin with one of these; the first byte of a size below 16 MB is 0.
    return bytes[0] === 0 && /^(moov|mdat|wide|pnot|free|skip)$/.test(box) ? 'video/quicktime' : undefined;
  }
  const end = Math.min(bytes.readUInt32BE(0), bytes.length);
  const brands = [ascii(bytes, 8, 12)];
  for (let at = 16; at + 4 <= end; at += 4) brands.push(ascii(bytes, at, at + 4));
  const major = brands[0] ?? '';

  if (brands.some((brand) => AV1_BRANDS.has(brand))) return 'image/avif';
  if (SEQUENCE_BRANDS.has(major)) return 'image/heic-sequence';
  if (STILL_BRANDS.has(major)) {
    return brands.some((brand) => SEQUENCE_BRANDS.has(brand)) ? 'image/heic-sequence' : 'image/heic';
  }
  if (major === 'qt  ') return 'video/quicktime';
  if (/^M4[ABP] $/.test(major)) return 'audio/mp4';
  if (/^3g[ergps2]/.test(major)) return 'video/3gpp';
  if (brands.some((brand) => MP4_BRANDS.test(brand))) return 'video/mp4';
  return undefined;
}

function sound(bytes: Buffer): MediaTypeName | undefined {
  if (startsWith(bytes, 'caff\0\x01')) return 'audio/x-caf';
  if (startsWith(bytes, '#!AMR-WB\n')) return 'audio/amr-wb';
  if (startsWith(bytes, '#!AMR\n')) return 'audio/amr';
  if (startsWith(bytes, 'RIFF') && ascii(bytes, 8, 12) === 'WAVE') return 'audio/wav';
  if (startsWith(bytes, 'FORM') && /^AIF[FC]$/.test(ascii(bytes, 8, 12))) return 'audio/aiff';
  if (startsWith(bytes, 'fLaC')) return 'audio/flac';
  if (startsWith(bytes, 'ID3')) return 'audio/mpeg';
  const [first = 0, second = 0, third = 0] = bytes;
  if (first !== 0xff || bytes.length < 4) return undefined;
  if ((second & 0xf6) === 0xf0) return 'audio/aac';
  // MPEG layer III with a valid version, bitrate and sample rate.
  const isLayer3 = (second & 0xe6) === 0xe2 && (second & 0x18) !== 0x08;
  return isLayer3 && third >> 4 !== 0 && third >> 4 !== 15 && (third & 0x0c) !== 0x0c
    ? 'audio/mpeg'
    : undefined;
}

function container(bytes: Buffer): MediaTypeName | undefined {
  if (startsWith(bytes, 'OggS')) return bytes.includes('\x80theora', 0, 'latin1') ? 'video/ogg' : 'audio/ogg';
  if (startsWith(bytes, '\x1aE\xdf\xa3'))
    return bytes.subarray(0, 64).includes('webm') ? 'video/webm' : undefined;
  if (startsWith(bytes, 'PK\x03\x04')) return zip(bytes);
  if (startsWith(bytes, 'PK\x05\x06')) return 'application/zip';
  if (startsWith(bytes, '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1')) return 'application/x-cfb';
  if (startsWith(bytes, '\x1f\x8b\x08')) return 'application/gzip';
  if (startsWith(bytes, "7z\xbc\xaf'\x1c")) return 'application/x-7z-compressed';
  if (startsWith(bytes, 'Rar!\x1a\x07')) return 'application/vnd.rar';
  return undefined;
}

const OFFICE_FOLDERS: readonly [Buffer, MediaTypeName][] = [
  [Buffer.from('word/'), 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  [Buffer.from('xl/'), 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  [Buffer.from('ppt/'), 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
];
const PACKAGE_TYPES: readonly MediaTypeName[] = [
  'application/vnd.oasis.opendocument.text',
  'application/vnd.oasis.opendocument.spreadsheet',
  'application/vnd.oasis.opendocument.presentation',
  'application/epub+zip',
];
const MIMETYPE = Buffer.from('mimetype');
const CONTENT_TYPES = Buffer.from('[Content_Types].xml');
const RELATIONS = Buffer.from('_rels/');

const ENTRY_HEADER = Buffer.from('PK\x03\x04');
const ENTRY_HEADER_BYTES = 30;

/** OpenDocument and EPUB declare their type in the first entry; Office files are recognised by their folders. */
function zip(bytes: Buffer): MediaTypeName {
  if (nameLength(bytes, 0) === MIMETYPE.length && isNamed(bytes, 0, MIMETYPE)) {
    const declared = ascii(bytes, 38, 38 + 80);
    const type = PACKAGE_TYPES.find((candidate) => declared.startsWith(candidate));
    if (type) return type;
  }
  let isOffice = false;
  const found = new Set<MediaTypeName>();
  for (let at = 0; at >= 0 && at + ENTRY_HEADER_BYTES <= bytes.length;) {
    isOffice ||= isNamed(bytes, at, CONTENT_TYPES) || isNamed(bytes, at, RELATIONS);
    for (const [folder, type] of OFFICE_FOLDERS) if (isNamed(bytes, at, folder)) found.add(type);
    // A header inside of a name is not an entry: no byte is read twice (T58).
    at = bytes.indexOf(ENTRY_HEADER, at + ENTRY_HEADER_BYTES + nameLength(bytes, at));
  }
  const office = isOffice ? OFFICE_FOLDERS.find(([, type]) => found.has(type)) : undefined;
  return office?.[1] ?? 'application/zip';
}

const nameLength = (bytes: Buffer, at: number) =>
  at + ENTRY_HEADER_BYTES <= bytes.length ? bytes.readUInt16LE(at + 26) : 0;

/** Returns whether the name of the entry begins with the prefix. */
function isNamed(bytes: Buffer, at: number, prefix: Buffer): boolean {
  const name = at + ENTRY_HEADER_BYTES;
  if (nameLength(bytes, at) < prefix.length || name + prefix.length > bytes.length) return false;
  return bytes.compare(prefix, 0, prefix.length, name, name + prefix.length) === 0;
}

function document(bytes: Buffer): MediaTypeName | undefined {
  // PDF readers accept a header that comes later; the extension should be right for those files too.
  if (startsWith(bytes, '%PDF-') || bytes.subarray(0, 1024).includes('\n%PDF-')) return 'application/pdf';
  if (startsWith(bytes, '{\\rtf')) return 'application/rtf';
  return undefined;
}

const MARKUP =
  /<(!doctype|\?xml|html|head|body|script|svg|iframe|object|embed|img|style|link|meta|math|base)\b/i;

/** Text is UTF-8 without control characters; text that contains markup is not plain. */
function text(bytes: Buffer): MediaTypeName | undefined {
  const content = decodeText(bytes);
  if (content === undefined) return undefined;
  if (content.startsWith('<') || MARKUP.test(content)) {
    if (/<(\w+:)?svg\b/i.test(content)) return 'image/svg+xml';
    return content.startsWith('<?xml') && !/<html\b/i.test(content) ? 'application/xml' : 'text/html';
  }
  if (/^BEGIN:VCARD\s/i.test(content)) return 'text/vcard';
  if (/^BEGIN:VCALENDAR\s/i.test(content)) return 'text/calendar';
  return 'text/plain';
}

function decodeText(bytes: Buffer): string | undefined {
  if (bytes.length === 0) return undefined;
  try {
    // `stream` accepts a character that is cut off at the end of the first bytes.
    const content = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true }).trimStart();
    // oxlint-disable-next-line no-control-regex -- control characters distinguish bytes from text
    return /[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]/.test(content) ? undefined : content;
  } catch {
    return undefined;
  }
}
