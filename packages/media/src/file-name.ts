import { MEDIA_TYPES, mediaType } from './media-types.ts';

const MAX_STEM_LENGTH = 80;
const KNOWN_EXTENSIONS = new Set<string>(Object.values(MEDIA_TYPES).flatMap((type) => [...type.extensions]));
/** Windows opens a device under these names, whatever the extension. */
const DEVICE_NAME = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/**
 * Returns a name that is safe in a header, in a URL and on any file system, with an extension that matches `type`.
 * An extension that claims another known type is replaced; any other one is kept and followed by the right one.
 */
export function safeFileName(claimed: string, type: string): string {
  const { extensions } = mediaType(type);
  const base = cleaned(claimed.slice(1 + Math.max(claimed.lastIndexOf('/'), claimed.lastIndexOf('\\'))));
  const dot = base.lastIndexOf('.');
  const extension = dot > 0 ? base.slice(dot + 1).toLowerCase() : '';
  if (extensions.includes(extension)) return `${stem(base.slice(0, dot))}.${extension}`;
  const kept = KNOWN_EXTENSIONS.has(extension) ? base.slice(0, dot) : base;
  return `${stem(kept)}.${extensions[0]}`;
}

function cleaned(name: string): string {
  return trimmed(
    name
      .toWellFormed()
      .normalize('NFC')
      // Control, bidirectional and zero-width characters can disguise a name.
      .replace(/[\p{C}\p{Zl}\p{Zp}\uFFFC\uFFFD]/gu, '')
      .replace(/[<>:"|?*%;]/g, '_')
      .replace(/\s+/g, ' '),
  );
}

/** Removes leading and trailing spaces and dots. A pattern such as `[ .]+$` would take quadratic time, and the Mac controls the name (T54). */
function trimmed(name: string): string {
  const isKept = (character: string | undefined) => character !== ' ' && character !== '.';
  let [start, end] = [0, name.length];
  while (start < end && !isKept(name[start])) start++;
  while (start < end && !isKept(name[end - 1])) end--;
  return name.slice(start, end);
}

function stem(name: string): string {
  const short = trimmed(Array.from(name).slice(0, MAX_STEM_LENGTH).join(''));
  if (short === '') return 'file';
  return DEVICE_NAME.test(short) ? `_${short}` : short;
}

/** Decodes a percent-encoded name. A name that is not validly encoded is returned unchanged. */
export function decodeFileName(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
