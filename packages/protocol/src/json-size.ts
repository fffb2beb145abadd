/** The maximum numbers of objects and arrays, of member names, and of commas in a JSON text. */
export interface JsonLimits {
  readonly brackets: number;
  readonly names: number;
  readonly commas: number;
}

/**
 * How deeply lists and objects may be nested. A syntax error inside of several thousand of them ends a process with Node 26.10: its
 * parser then reads memory that is not its own (T60).
 */
export const MAX_JSON_DEPTH = 512;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Returns whether a JSON text has more objects, arrays, names or items than allowed, or is nested too deeply. Counting is much cheaper than parsing: a parser spends up to
 * a hundred times as long on a byte of brackets or names as on a byte of text (T54).
 */
export function exceedsJsonLimits(raw: Uint8Array, { brackets, names, commas }: JsonLimits): boolean {
  if (raw.length <= Math.min(brackets, names, commas, MAX_JSON_DEPTH)) return false;
  let opened = 0;
  let depth = 0;
  let named = 0;
  let separated = 0;
  let inText = false;
  for (let at = 0; at < raw.length; at++) {
    const byte = raw[at];
    if (byte === QUOTE) inText = !inText;
    else if (inText) at += byte === BACKSLASH ? 1 : 0;
    else if (byte === COMMA) separated++;
    else if (byte === COLON) named++;
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      opened++;
      if (++depth > MAX_JSON_DEPTH) return true;
    }
  }
  return opened > brackets || named > names || separated > commas;
}

/** Returns whether lists and objects are nested more deeply than `MAX_JSON_DEPTH`. */
export function isNestedTooDeeply(text: string): boolean {
  if (text.length <= MAX_JSON_DEPTH) return false;
  let depth = 0;
  let inText = false;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) inText = !inText;
    else if (inText) at += unit === BACKSLASH ? 1 : 0;
    else if (unit === CLOSE_LIST || unit === CLOSE_OBJECT) depth--;
    else if ((unit === OPEN_LIST || unit === OPEN_OBJECT) && ++depth > MAX_JSON_DEPTH) return true;
  }
  return false;
}
