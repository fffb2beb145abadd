import { constants, inflateRawSync, inflateSync } from 'node:zlib';
import { ConversionError } from './budget.ts';

export interface PngHeader {
  width: number;
  height: number;
  depth: number;
  colour: number;
  interlaced: boolean;
}

export interface Chunk {
  type: string;
  data: Buffer;
  checksum: number;
}

/** Iterates over the chunks in file order. Stops silently where a file is truncated; the caller notices what is missing. */
export function* pngChunks(file: Buffer): Generator<Chunk> {
  for (let at = 8; at + 12 <= file.length;) {
    const length = file.readUInt32BE(at);
    if (at + 12 + length > file.length) return;
    const type = file.toString('latin1', at + 4, at + 8);
    const data = file.subarray(at + 8, at + 8 + length);
    yield { type, data, checksum: file.readUInt32BE(at + 8 + length) };
    if (type === 'IEND') return;
    at += 12 + length;
  }
}

const CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };

export function pngHeader(data: Buffer): PngHeader {
  if (data.length < 13) throw new ConversionError('the image is damaged');
  const header = {
    width: data.readUInt32BE(0),
    height: data.readUInt32BE(4),
    depth: data.readUInt8(8),
    colour: data.readUInt8(9),
    interlaced: data.readUInt8(12) === 1,
  };
  if (!CHANNELS[header.colour] || ![1, 2, 4, 8, 16].includes(header.depth)) {
    throw new ConversionError('the image is damaged');
  }
  return header;
}

export interface PngPalette {
  /** PLTE: three bytes per colour. */
  colours?: Buffer | undefined;
  /** tRNS: the alpha of each palette colour, or the one colour that is transparent. */
  transparency?: Buffer | undefined;
}

interface Pass {
  x: number;
  y: number;
  stepX: number;
  stepY: number;
}
const STRAIGHT: readonly Pass[] = [{ x: 0, y: 0, stepX: 1, stepY: 1 }];
const ADAM7: readonly Pass[] = [
  { x: 0, y: 0, stepX: 8, stepY: 8 },
  { x: 4, y: 0, stepX: 8, stepY: 8 },
  { x: 0, y: 4, stepX: 4, stepY: 8 },
  { x: 2, y: 0, stepX: 4, stepY: 4 },
  { x: 0, y: 2, stepX: 2, stepY: 4 },
  { x: 1, y: 0, stepX: 2, stepY: 2 },
  { x: 0, y: 1, stepX: 1, stepY: 2 },
];

/** Decodes image data to RGBA with eight bits per channel. */
export function readPixels(
  compressed: Buffer,
  header: PngHeader,
  palette: PngPalette,
  variant: 'standard' | 'apple' = 'standard',
): Uint8Array {
  const { width, height, depth, colour } = header;
  const bitsPerPixel = (CHANNELS[colour] ?? 1) * depth;
  const passes = (header.interlaced ? ADAM7 : STRAIGHT)
    .map((pass) => ({
      ...pass,
      columns: Math.ceil((width - pass.x) / pass.stepX),
      rows: Math.ceil((height - pass.y) / pass.stepY),
    }))
    .filter(({ columns, rows }) => columns > 0 && rows > 0);
  const rowBytes = (columns: number) => Math.ceil((columns * bitsPerPixel) / 8);
  const expected = passes.reduce((sum, { columns, rows }) => sum + rows * (1 + rowBytes(columns)), 0);
  const data = unpack(compressed, expected, variant);

  const rgba = new Uint8Array(width * height * 4);
  const write = pixelWriter(header, palette, rgba);
  let at = 0;
  for (const pass of passes) {
    const length = rowBytes(pass.columns);
    let above: Uint8Array = new Uint8Array(length);
    for (let row = 0; row < pass.rows; row++) {
      const line = data.subarray(at + 1, at + 1 + length);
      unfilter(data[at] ?? 0, line, above, Math.max(1, bitsPerPixel >> 3));
      const start = (pass.y + row * pass.stepY) * width + pass.x;
      for (let column = 0; column < pass.columns; column++) write(line, column, start + column * pass.stepX);
      above = line;
      at += 1 + length;
    }
  }
  return rgba;
}

/** Never inflates beyond the size in the header: a few kilobytes of zeros can inflate to gigabytes. */
function unpack(compressed: Buffer, expected: number, variant: 'standard' | 'apple'): Buffer {
  const inflate = variant === 'apple' ? inflateRawSync : inflateSync;
  let data: Buffer;
  try {
    data = inflate(compressed, { maxOutputLength: expected, finishFlush: constants.Z_SYNC_FLUSH });
  } catch (cause) {
    throw new ConversionError('the image is damaged', { cause });
  }
  if (data.length < expected) throw new ConversionError('the image is truncated');
  return data;
}

function unfilter(filter: number, line: Uint8Array, above: Uint8Array, step: number): void {
  if (filter === 0) return;
  if (filter > 4) throw new ConversionError('the image is damaged');
  for (let i = 0; i < line.length; i++) {
    const left = line[i - step] ?? 0;
    const up = above[i] ?? 0;
    const predicted =
      filter === 1
        ? left
        : filter === 2
          ? up
          : filter === 3
            ? (left + up) >> 1
            : paeth(left, up, above[i - step] ?? 0);
    line[i] = (line[i] ?? 0) + predicted;
  }
}

function paeth(left: number, up: number, upLeft: number): number {
  const estimate = left + up - upLeft;
  const toLeft = Math.abs(estimate - left);
  const toUp = Math.abs(estimate - up);
  const toUpLeft = Math.abs(estimate - upLeft);
  if (toLeft <= toUp && toLeft <= toUpLeft) return left;
  return toUp <= toUpLeft ? up : upLeft;
}

type WritePixel = (line: Uint8Array, column: number, target: number) => void;

function pixelWriter(header: PngHeader, palette: PngPalette, rgba: Uint8Array): WritePixel {
  const { depth, colour } = header;
  const channels = CHANNELS[colour] ?? 1;
  const bytes = depth === 16 ? 2 : 1;
  const put = (target: number, red: number, green: number, blue: number, alpha: number) => {
    rgba[target * 4] = red;
    rgba[target * 4 + 1] = green;
    rgba[target * 4 + 2] = blue;
    rgba[target * 4 + 3] = alpha;
  };
  if (colour === 3) {
    const { colours = Buffer.alloc(0), transparency = Buffer.alloc(0) } = palette;
    return (line, column, target) => {
      const index = sample(line, column, depth);
      const at = index * 3;
      put(target, colours[at] ?? 0, colours[at + 1] ?? 0, colours[at + 2] ?? 0, transparency[index] ?? 255);
    };
  }
  // The transparent colour is compared with all bits of a sample, not only with the eight that are kept.
  const clear = colour === 0 || colour === 2 ? palette.transparency : undefined;
  const isClear = (line: Uint8Array, column: number): boolean => {
    if (clear === undefined || clear.length < channels * 2) return false;
    for (let channel = 0; channel < channels; channel++) {
      if (sample(line, column * channels + channel, depth) !== clear.readUInt16BE(channel * 2)) return false;
    }
    return true;
  };
  if (depth < 8) {
    const scale = 255 / ((1 << depth) - 1);
    return (line, column, target) => {
      const grey = sample(line, column, depth) * scale;
      put(target, grey, grey, grey, isClear(line, column) ? 0 : 255);
    };
  }
  const isGrey = channels < 3;
  const hasAlpha = channels === 2 || channels === 4;
  return (line, column, target) => {
    const at = column * channels * bytes;
    const red = line[at] ?? 0;
    const green = isGrey ? red : (line[at + bytes] ?? 0);
    const blue = isGrey ? red : (line[at + 2 * bytes] ?? 0);
    const alpha = hasAlpha ? (line[at + (channels - 1) * bytes] ?? 0) : isClear(line, column) ? 0 : 255;
    put(target, red, green, blue, alpha);
  };
}

function sample(line: Uint8Array, index: number, depth: number): number {
  if (depth === 8) return line[index] ?? 0;
  if (depth === 16) return ((line[index * 2] ?? 0) << 8) | (line[index * 2 + 1] ?? 0);
  const bit = index * depth;
  return ((line[bit >> 3] ?? 0) >> (8 - depth - (bit & 7))) & ((1 << depth) - 1);
}
