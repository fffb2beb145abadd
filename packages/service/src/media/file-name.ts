import { MEDIA_TYPES, mediaType } from './media-types.ts';

const LONGEST_STEM = 80;
const KNOWN_EXTENSIONS = new Set<string>(Object.values(MEDIA_TYPES).flatMap((type) => [...type.extensions]));
/** Windows opens a device of this name, whatever the ending. */
const DEVICE_NAME = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/**
 * A name that is safe in a header, in an address and on any disk, and whose ending tells the truth about `type`:
 * an ending that claims another known type is replaced, any other one stays and is followed by the true one.
 */
export function safeFileName(claimed: string, type: string): string {
  const { extensions } = mediaType(type);
  const base = cleaned(claimed.slice(claimed.search(/[^/\\]*$/)));
  const dot = base.lastIndexOf('.');
  const ending = dot > 0 ? base.slice(dot + 1).toLowerCase() : '';
  if (extensions.includes(ending)) return `${stem(base.slice(0, dot))}.${ending}`;
  const kept = KNOWN_EXTENSIONS.has(ending) ? base.slice(0, dot) : base;
  return `${stem(kept)}.${extensions[0]}`;
}

function cleaned(name: string): string {
  return (
    name
      .toWellFormed()
      .normalize('NFC')
      // Control, direction and zero-width characters hide what a name really says.
      .replace(/[\p{C}\p{Zl}\p{Zp}\uFFFC\uFFFD]/gu, '')
      .replace(/[<>:"|?*%;]/g, '_')
      .replace(/\s+/g, ' ')
      .replace(/^[\s.]+|[\s.]+$/g, '')
  );
}

function stem(name: string): string {
  const short = Array.from(name)
    .slice(0, LONGEST_STEM)
    .join('')
    .replace(/[\s.]+$/, '');
  if (short === '') return 'file';
  return DEVICE_NAME.test(short) ? `_${short}` : short;
}

/** Header values are Latin-1 on the wire: a Mac percent-encodes the name, a plain ASCII one passes as it is. */
export function fileNameFromHeader(value: string | undefined): string {
  if (value === undefined) return '';
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/** RFC 6266: an ASCII name for old readers, the exact one in UTF-8 beside it when they differ. */
export function contentDisposition(disposition: 'inline' | 'attachment', name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const header = `${disposition}; filename="${plain}"`;
  return plain === name ? header : `${header}; filename*=UTF-8''${encodeExtValue(name)}`;
}

/** RFC 8187 allows fewer characters than `encodeURIComponent` leaves alone. */
const encodeExtValue = (name: string) =>
  encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
