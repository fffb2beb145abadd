const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const SEXTETS = new Map(Array.from(ALPHABET, (letter, value) => [letter.charCodeAt(0), value]));
const PADDING = '=';

/**
 * Decodes strict base64 (RFC 4648 §4): standard alphabet, padding required, no white space, unused bits zero. Returns
 * undefined for anything else, so every byte sequence has exactly one encoding. Platform decoders are lenient and accept
 * several encodings of one signature (S8).
 */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % 4 !== 0) return undefined;
  const padding = text.endsWith(PADDING + PADDING) ? 2 : text.endsWith(PADDING) ? 1 : 0;
  const letters = text.length - padding;
  const bytes = new Uint8Array(Math.floor((letters * 3) / 4));
  let pending = 0;
  let bits = 0;
  let filled = 0;
  for (let at = 0; at < letters; at += 1) {
    const sextet = SEXTETS.get(text.charCodeAt(at));
    if (sextet === undefined) return undefined;
    pending = ((pending << 6) | sextet) & 0xfff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes[filled] = pending >> bits;
    filled += 1;
  }
  const unused = pending & ((1 << bits) - 1);
  return unused === 0 ? bytes : undefined;
}

export function encodeBase64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 3) {
    const [first = 0, second = 0, third = 0] = bytes.subarray(at, at + 3);
    const group = (first << 16) | (second << 8) | third;
    for (const shift of [18, 12, 6, 0]) text += ALPHABET.charAt((group >> shift) & 63);
  }
  const missing = (3 - (bytes.length % 3)) % 3;
  return text.slice(0, text.length - missing) + PADDING.repeat(missing);
}
