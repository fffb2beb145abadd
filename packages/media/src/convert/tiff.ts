import { checkImage, MAX_PIXELS, ConversionError } from './budget.ts';
import { openImageWriter } from './image-write.ts';
import type { OutputFile } from './output-file.ts';
import { UNCOMPRESSED, unpackTiff } from './tiff-unpack.ts';

/** One row of strips or tiles, decompressed: a file may have its whole image in one. */
const MAX_BAND_BYTES = 64 * 1024 * 1024;
/** Strips and tiles do not overlap; a file whose strips are all the whole file would take hours. */
const MAX_READS = 2;
const TYPE_BYTES: Readonly<Record<number, number>> = { 1: 1, 2: 1, 3: 2, 4: 4, 7: 1 };

const TAG = {
  width: 256,
  height: 257,
  bits: 258,
  compression: 259,
  photometric: 262,
  stripOffsets: 273,
  samples: 277,
  rowsPerStrip: 278,
  stripBytes: 279,
  planar: 284,
  predictor: 317,
  palette: 320,
  tileWidth: 322,
  tileHeight: 323,
  tileOffsets: 324,
  tileBytes: 325,
  extraSamples: 338,
  profile: 34_675,
} as const;

/** Converts the first page of a TIFF, strip by strip. The note says when there are more pages. */
export function convertTiff(
  file: Buffer,
  output: OutputFile,
): { type: 'image/png' | 'image/jpeg'; note?: string } {
  const page = new Page(file);
  const writer = openImageWriter(output, page);
  for (const row of page.rows()) writer.row(row);
  writer.finish();
  return {
    type: writer.type,
    ...(!page.isLast && { note: 'only the first page of a TIFF with several is shown' }),
  };
}

class Page {
  readonly width: number;
  readonly height: number;
  readonly hasAlpha: boolean;
  readonly profile: Uint8Array | undefined;
  readonly isLast: boolean;

  readonly #file: Buffer;
  readonly #isLittle: boolean;
  readonly #tags = new Map<number, { type: number; count: number; at: number }>();
  readonly #bits: number;
  readonly #samples: number;
  readonly #photometric: number;
  readonly #palette: readonly number[];
  readonly #isPlanar: boolean;
  readonly #isPremultiplied: boolean;

  constructor(file: Buffer) {
    this.#file = file;
    this.#isLittle = file.toString('latin1', 0, 2) === 'II';
    try {
      this.isLast = this.#readDirectory(this.#number(4, 4)) === 0;
      this.width = this.#tag(TAG.width);
      this.height = this.#tag(TAG.height);
      this.#bits = this.#tag(TAG.bits, 1);
      this.#samples = this.#tag(TAG.samples, 1);
      this.#photometric = this.#tag(TAG.photometric);
      this.#isPlanar = this.#tag(TAG.planar, 1) === 2;
      const colours = this.#photometric === 2 ? 3 : this.#photometric === 5 ? 4 : 1;
      if (this.#samples < colours) throw new ConversionError('the image is damaged');
      this.hasAlpha = this.#samples > colours && this.#tag(TAG.extraSamples, 2) !== 0;
      this.#isPremultiplied = this.#tag(TAG.extraSamples, 2) === 1;
      this.#palette = this.#photometric === 3 ? this.#numbers(TAG.palette, 3 << 16) : [];
      this.profile = this.#bytes(TAG.profile);
    } catch (cause) {
      throw cause instanceof ConversionError ? cause : new ConversionError('the image is damaged', { cause });
    }
    checkImage(this.width, this.height, MAX_PIXELS);
    if (
      ![1, 2, 4, 8, 16].includes(this.#bits) ||
      this.#samples > 8 ||
      ![0, 1, 2, 3, 5].includes(this.#photometric)
    ) {
      throw new ConversionError('this kind of TIFF is not supported');
    }
  }

  *rows(): Generator<Uint8Array> {
    const isTiled = this.#tags.has(TAG.tileOffsets);
    const blockWidth = isTiled ? this.#tag(TAG.tileWidth) : this.width;
    const blockHeight = isTiled
      ? this.#tag(TAG.tileHeight)
      : Math.min(this.#tag(TAG.rowsPerStrip, this.height), this.height);
    if (blockWidth < 1 || blockHeight < 1) throw new ConversionError('the image is damaged');

    const planes = this.#isPlanar ? this.#samples : 1;
    const perPlane = this.#isPlanar ? 1 : this.#samples;
    const columns = Math.ceil(this.width / blockWidth);
    const bands = Math.ceil(this.height / blockHeight);
    const offsets = this.#numbers(isTiled ? TAG.tileOffsets : TAG.stripOffsets, planes * columns * bands);
    const lengths = this.#numbers(isTiled ? TAG.tileBytes : TAG.stripBytes, planes * columns * bands);
    const blockRowBytes = Math.ceil((blockWidth * perPlane * this.#bits) / 8);
    const bandRowBytes = blockRowBytes * columns;
    if (bandRowBytes * blockHeight * planes > MAX_BAND_BYTES) {
      throw new ConversionError(`the image is too large (${this.width} × ${this.height})`);
    }
    const compression = this.#tag(TAG.compression, 1);
    const mostBytes = compression === UNCOMPRESSED ? blockRowBytes * blockHeight : this.#file.length;
    let left = MAX_READS * this.#file.length;
    const isPredicted = this.#tag(TAG.predictor, 1) === 2;
    const band = Array.from({ length: planes }, () => Buffer.alloc(bandRowBytes * blockHeight));
    const row = new Uint8Array(this.width * (this.hasAlpha ? 4 : 3));

    for (let index = 0; index < bands; index++) {
      const height = Math.min(blockHeight, this.height - index * blockHeight);
      for (const [plane, target] of band.entries()) {
        for (let column = 0; column < columns; column++) {
          const block = (plane * bands + index) * columns + column;
          const start = offsets[block] ?? 0;
          const packed = this.#file.subarray(start, start + Math.min(lengths[block] ?? mostBytes, mostBytes));
          left -= packed.length;
          if (left < 0) throw new ConversionError('the image is damaged');
          const rows = isTiled ? blockHeight : height;
          const bytes = unpackTiff(compression, packed, blockRowBytes * rows);
          for (let y = 0; y < rows; y++) {
            const line = bytes.subarray(y * blockRowBytes, (y + 1) * blockRowBytes);
            if (isPredicted) this.#undoPredictor(line, perPlane);
            target.set(line, y * bandRowBytes + column * blockRowBytes);
          }
        }
      }
      for (let y = 0; y < height; y++) {
        const lines = band.map((plane) => plane.subarray(y * bandRowBytes, (y + 1) * bandRowBytes));
        this.#toRow(lines, perPlane, row);
        yield row;
      }
    }
  }

  /** Undoes the horizontal predictor, which stores each sample as the difference to the previous one. */
  #undoPredictor(line: Buffer, step: number): void {
    if (this.#bits === 8) {
      for (let i = step; i < line.length; i++) line[i] = (line[i] ?? 0) + (line[i - step] ?? 0);
    } else if (this.#bits === 16) {
      const read = (at: number) => (this.#isLittle ? line.readUInt16LE(at) : line.readUInt16BE(at));
      for (let at = step * 2; at + 1 < line.length; at += 2) {
        const sum = (read(at) + read(at - step * 2)) & 0xffff;
        if (this.#isLittle) line.writeUInt16LE(sum, at);
        else line.writeUInt16BE(sum, at);
      }
    }
  }

  #toRow(lines: Buffer[], perPlane: number, row: Uint8Array): void {
    const sample = (x: number, channel: number) =>
      this.#isPlanar
        ? this.#sample(lines[channel] ?? Buffer.alloc(0), x)
        : this.#sample(lines[0] ?? Buffer.alloc(0), x * perPlane + channel);
    const white = this.#bits >= 8 ? 255 : (1 << this.#bits) - 1;
    const colours = this.#palette.length / 3;
    const step = this.hasAlpha ? 4 : 3;
    for (let x = 0; x < this.width; x++) {
      const at = x * step;
      const first = sample(x, 0);
      let alphaAt = 1;
      if (this.#photometric === 2) {
        row[at] = first;
        row[at + 1] = sample(x, 1);
        row[at + 2] = sample(x, 2);
        alphaAt = 3;
      } else if (this.#photometric === 3) {
        for (let channel = 0; channel < 3; channel++)
          row[at + channel] = (this.#palette[channel * colours + first] ?? 0) >> 8;
      } else if (this.#photometric === 5) {
        const light = 255 - sample(x, 3);
        for (let channel = 0; channel < 3; channel++)
          row[at + channel] = ((255 - sample(x, channel)) * light) / 255;
        alphaAt = 4;
      } else {
        const grey = ((this.#photometric === 0 ? white - first : first) * 255) / white;
        row.fill(grey, at, at + 3);
      }
      if (this.hasAlpha) this.#setAlpha(row, at, sample(x, alphaAt));
    }
  }

  #setAlpha(row: Uint8Array, at: number, alpha: number): void {
    row[at + 3] = alpha;
    if (!this.#isPremultiplied || alpha === 0) return;
    for (let channel = at; channel < at + 3; channel++) {
      row[channel] = Math.min(255, Math.round(((row[channel] ?? 0) * 255) / alpha));
    }
  }

  /** Returns the upper eight bits of a sample, or all of it when it has fewer. */
  #sample(line: Buffer, index: number): number {
    if (this.#bits === 8) return line[index] ?? 0;
    if (this.#bits === 16) return line[index * 2 + (this.#isLittle ? 1 : 0)] ?? 0;
    const bit = index * this.#bits;
    return ((line[bit >> 3] ?? 0) >> (8 - this.#bits - (bit & 7))) & ((1 << this.#bits) - 1);
  }

  /** Returns the offset of the next page, 0 for none. */
  #readDirectory(start: number): number {
    const entries = this.#number(start, 2);
    for (let n = 0; n < entries; n++) {
      const at = start + 2 + n * 12;
      const type = this.#number(at + 2, 2);
      const count = this.#number(at + 4, 4);
      const isInside = count * (TYPE_BYTES[type] ?? 8) <= 4;
      this.#tags.set(this.#number(at, 2), { type, count, at: isInside ? at + 8 : this.#number(at + 8, 4) });
    }
    return this.#number(start + 2 + entries * 12, 4);
  }

  #tag(tag: number, fallback?: number): number {
    const value = this.#numbers(tag, 1)[0] ?? fallback;
    if (value === undefined) throw new ConversionError('the image is damaged');
    return value;
  }

  /** Returns the first numbers of a list, at most `max`: it may be as long as the file. */
  #numbers(tag: number, max: number): number[] {
    const { type = 0, count = 0, at = 0 } = this.#tags.get(tag) ?? {};
    const size = TYPE_BYTES[type];
    if (size === undefined) return [];
    if (at + count * size > this.#file.length) throw new ConversionError('the image is truncated');
    return Array.from({ length: Math.min(count, max) }, (_, index) => this.#number(at + index * size, size));
  }

  #bytes(tag: number): Buffer | undefined {
    const found = this.#tags.get(tag);
    return found && this.#file.subarray(found.at, found.at + found.count);
  }

  #number(at: number, size: number): number {
    return this.#isLittle ? this.#file.readUIntLE(at, size) : this.#file.readUIntBE(at, size);
  }
}
