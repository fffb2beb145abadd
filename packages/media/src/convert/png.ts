import { crc32 } from 'node:zlib';

import { checkImage, ConversionError } from './budget.ts';
import type { OutputFile } from './output-file.ts';
import { pngChunks, pngHeader, readPixels } from './png-read.ts';
import type { PngHeader, PngPalette } from './png-read.ts';
import { PngWriter } from './png-write.ts';

const MAX_PIXELS = 16_000_000;

/** Writes the pixels of a PNG as a new one, of an animation those of its default image. */
export function convertPng(file: Buffer, output: OutputFile): { type: 'image/png' } {
  let header: PngHeader | undefined;
  const palette: PngPalette = {};
  const parts: Buffer[] = [];
  for (const { type, data, checksum } of pngChunks(file)) {
    if (crc32(data, crc32(Buffer.from(type, 'latin1'))) !== checksum)
      throw new ConversionError('the image is damaged');
    if (type === 'IHDR') header = pngHeader(data);
    else if (type === 'PLTE') palette.colours = data;
    else if (type === 'tRNS') palette.transparency = data;
    else if (type === 'IDAT') parts.push(data);
  }
  if (!header) throw new ConversionError('the image is damaged');
  const { width, height } = header;
  checkImage(width, height, MAX_PIXELS);
  const pixels = readPixels(Buffer.concat(parts), header, palette);
  const writer = new PngWriter(output, { width, height }, 4);
  for (let row = 0; row < height; row++) writer.row(pixels.subarray(row * width * 4, (row + 1) * width * 4));
  writer.finish();
  return { type: 'image/png' };
}
