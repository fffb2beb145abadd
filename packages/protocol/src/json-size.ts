/** The maximum number of objects and arrays, and of member names, in a JSON text. */
export interface JsonLimits {
  readonly brackets: number;
  readonly names: number;
}

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const OPEN_OBJECT = 0x7b;

/**
 * Returns whether a JSON text has more objects, arrays or names than allowed. Counting is much cheaper than parsing: a parser spends up to
 * a hundred times as long on a byte of brackets or names as on a byte of text (T54).
 */
export function exceedsJsonLimits(raw: Uint8Array, { brackets, names }: JsonLimits): boolean {
  if (raw.length <= Math.min(brackets, names)) return false;
  let opened = 0;
  let named = 0;
  let inText = false;
  for (let at = 0; at < raw.length; at++) {
    const byte = raw[at];
    if (byte === QUOTE) inText = !inText;
    else if (inText) at += byte === BACKSLASH ? 1 : 0;
    else if (byte === COLON) named++;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) opened++;
  }
  return opened > brackets || named > names;
}
