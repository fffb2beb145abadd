/** The maximum numbers of objects and arrays, of member names, and of commas in a JSON text. */
export interface JsonLimits {
  readonly brackets: number;
  readonly names: number;
  readonly commas: number;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const OPEN_OBJECT = 0x7b;

/**
 * Returns whether a JSON text has more objects, arrays, names or items than allowed. Counting is much cheaper than parsing: a parser spends up to
 * a hundred times as long on a byte of brackets or names as on a byte of text (T54).
 */
export function exceedsJsonLimits(raw: Uint8Array, { brackets, names, commas }: JsonLimits): boolean {
  if (raw.length <= Math.min(brackets, names, commas)) return false;
  let opened = 0;
  let named = 0;
  let separated = 0;
  let inText = false;
  for (let at = 0; at < raw.length; at++) {
    const byte = raw[at];
    if (byte === QUOTE) inText = !inText;
    else if (inText) at += byte === BACKSLASH ? 1 : 0;
    else if (byte === COMMA) separated++;
    else if (byte === COLON) named++;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) opened++;
  }
  return opened > brackets || named > names || separated > commas;
}
