import { checkImage, ConversionError } from './budget.ts';
import type { OutputFile } from './output-file.ts';
import { pngChunks, pngHeader, readPixels } from './png-read.ts';
import type { PngHeader } from './png-read.ts';
import { PngWriter } from './png-write.ts';

/** Converts Apple's PNG variant (no zlib header, BGRA, premultiplied alpha) to a standard PNG. */
export function convertApplePng(file: Buffer, output: OutputFile): { type: 'image/png' } {
  let header: PngHeader | undefined;
  const data: Buffer[] = [];
  for (const chunk of pngChunks(file)) {
    if (chunk.type === 'IHDR') header = pngHeader(chunk.data);
    else if (chunk.type === 'IDAT') data.push(chunk.data);
  }
  if (!header) throw new ConversionError('the image is damaged');
  const { width, height } = header;
  checkImage(width, height);
  const pixels = readPixels(Buffer.concat(data), header, {}, 'apple');
  const writer = new PngWriter(output, { width, height }, 4);
  for (let row = 0; row < height; row++) {
    const line = pixels.subarray(row * width * 4, (row + 1) * width * 4);
    for (let at = 0; at < line.length; at += 4) toStraightRgba(line, at);
    writer.row(line);
  }
  writer.finish();
  return { type: 'image/png' };
}

function toStraightRgba(line: Uint8Array, at: number): void {
  const [blue = 0, green = 0, red = 0, alpha = 0] = line.subarray(at, at + 4);
  const scale = alpha === 0 ? 0 : 255 / alpha;
  line[at] = Math.min(255, Math.round(red * scale));
  line[at + 1] = Math.min(255, Math.round(green * scale));
  line[at + 2] = Math.min(255, Math.round(blue * scale));
}
