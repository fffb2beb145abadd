import { constants, inflateSync } from 'node:zlib';
import { ConversionError } from './budget.ts';

export const UNCOMPRESSED = 1;

/** Decompresses a strip or tile to exactly `expected` bytes; missing ones are zero. */
export function unpackTiff(compression: number, packed: Buffer, expected: number): Buffer {
  switch (compression) {
    case UNCOMPRESSED:
      return filled(packed.subarray(0, expected), expected);
    case 5:
      return unpackLzw(packed, expected);
    case 8:
    case 32_946:
      return filled(unpackDeflate(packed, expected), expected);
    case 32_773:
      return unpackBits(packed, expected);
    default:
      throw new ConversionError(`TIFF compression ${compression} is not supported`);
  }
}

const filled = (bytes: Buffer, expected: number) =>
  bytes.length === expected ? bytes : Buffer.concat([bytes], expected);

function unpackDeflate(packed: Buffer, expected: number): Buffer {
  try {
    return inflateSync(packed, { maxOutputLength: expected, finishFlush: constants.Z_SYNC_FLUSH });
  } catch (cause) {
    throw new ConversionError('the image is damaged', { cause });
  }
}

function unpackBits(packed: Buffer, expected: number): Buffer {
  const bytes = Buffer.alloc(expected);
  let to = 0;
  for (let at = 0; at < packed.length && to < expected;) {
    const code = packed.readInt8(at++);
    if (code >= 0) {
      to += packed.copy(bytes, to, at, at + code + 1);
      at += code + 1;
    } else if (code !== -128) {
      bytes.fill(packed[at++] ?? 0, to, Math.min(expected, to + 1 - code));
      to += 1 - code;
    }
  }
  return bytes;
}

const CLEAR = 256;
const END = 257;

/** TIFF's LZW variant: codes of 9 to 12 bits, most significant bit first, growing one code early. */
function unpackLzw(packed: Buffer, expected: number): Buffer {
  const bytes = Buffer.alloc(expected);
  // Each code refers to bytes already written, by offset and length.
  const starts = new Uint32Array(4097);
  const lengths = new Uint32Array(4097);
  let next = END + 1;
  let width = 9;
  let previous = -1;
  let to = 0;
  let bits = 0;
  let held = 0;
  for (let at = 0; to < expected;) {
    while (held < width) {
      if (at >= packed.length) return bytes;
      bits = ((bits << 8) | (packed[at++] ?? 0)) & 0xffffff;
      held += 8;
    }
    held -= width;
    const code = (bits >> held) & ((1 << width) - 1);
    if (code === END) break;
    if (code === CLEAR) {
      next = END + 1;
      width = 9;
      previous = -1;
      continue;
    }
    const begin = to;
    if (code < CLEAR) {
      bytes[to++] = code;
    } else {
      const isKnown = code < next;
      if (previous < 0 || code > next) throw new ConversionError('the image is damaged');
      // The code that is about to be added: the previous string followed by its own first byte.
      const start = isKnown ? (starts[code] ?? 0) : begin - previous;
      const length = isKnown ? (lengths[code] ?? 0) : previous + 1;
      for (let i = 0; i < length && to < expected; i++) bytes[to++] = bytes[start + i] ?? 0;
    }
    if (previous > 0 && next < 4096) {
      starts[next] = begin - previous;
      lengths[next] = previous + 1;
      next += 1;
    }
    previous = to - begin;
    width = next >= 2047 ? 12 : next >= 1023 ? 11 : next >= 511 ? 10 : 9;
  }
  return bytes;
}
