import { constants, crc32, deflateRawSync, deflateSync } from 'node:zlib';
import type { OutputFile } from './output-file.ts';

const BAND_BYTES = 1024 * 1024;

/**
 * Writes a PNG row by row. Rows are compressed in bands of a megabyte; the deflate blocks of a band end on a byte
 * boundary, so the bands form one stream and only one of them is in memory.
 */
export class PngWriter {
  readonly type = 'image/png';
  readonly #output: OutputFile;
  readonly #channels: 3 | 4;
  readonly #band: Buffer;
  #filled = 0;
  #previous: Uint8Array;
  #checksum = { a: 1, b: 0 };
  #started = false;

  constructor(
    output: OutputFile,
    size: { width: number; height: number },
    channels: 3 | 4,
    profile?: Uint8Array,
  ) {
    this.#output = output;
    this.#channels = channels;
    const rowBytes = size.width * channels;
    this.#previous = new Uint8Array(rowBytes);
    this.#band = Buffer.alloc(Math.max(BAND_BYTES, rowBytes + 1));
    output.write(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'));
    const header = Buffer.alloc(13);
    header.writeUInt32BE(size.width, 0);
    header.writeUInt32BE(size.height, 4);
    header[8] = 8;
    header[9] = channels === 4 ? 6 : 2;
    this.#chunk('IHDR', header);
    if (profile) this.#chunk('iCCP', Buffer.concat([Buffer.from('profile\0\0'), deflateSync(profile)]));
  }

  /** `pixels` is one row of three or four bytes per pixel; the caller may reuse it. */
  row(pixels: Uint8Array): void {
    if (this.#filled + pixels.length + 1 > this.#band.length) this.#flush(constants.Z_SYNC_FLUSH);
    this.#filter(pixels, this.#band.subarray(this.#filled, this.#filled + pixels.length + 1));
    this.#filled += pixels.length + 1;
    this.#previous.set(pixels);
  }

  finish(): void {
    this.#flush(constants.Z_FINISH);
    this.#chunk('IEND', Buffer.alloc(0));
  }

  /** Applies the Sub or the Up filter, whichever gives the smaller sum of differences. */
  #filter(pixels: Uint8Array, target: Uint8Array): void {
    const above = this.#previous;
    const step = this.#channels;
    let sub = 0;
    let up = 0;
    for (let i = 0; i < pixels.length; i++) {
      const value = pixels[i] ?? 0;
      sub += Math.abs(value - (pixels[i - step] ?? 0));
      up += Math.abs(value - (above[i] ?? 0));
    }
    const useUp = up < sub;
    target[0] = useUp ? 2 : 1;
    for (let i = 0; i < pixels.length; i++) {
      target[i + 1] = (pixels[i] ?? 0) - ((useUp ? above[i] : pixels[i - step]) ?? 0);
    }
  }

  #flush(finishFlush: number): void {
    const band = this.#band.subarray(0, this.#filled);
    this.#filled = 0;
    this.#sum(band);
    const parts: Buffer[] = [deflateRawSync(band, { finishFlush })];
    if (!this.#started) parts.unshift(Buffer.from([0x78, 0x9c]));
    this.#started = true;
    if (finishFlush === constants.Z_FINISH) {
      const end = Buffer.alloc(4);
      end.writeUInt16BE(this.#checksum.b, 0);
      end.writeUInt16BE(this.#checksum.a, 2);
      parts.push(end);
    }
    this.#chunk('IDAT', Buffer.concat(parts));
  }

  /** Adler-32, which node:zlib does not export. */
  #sum(bytes: Uint8Array): void {
    let { a, b } = this.#checksum;
    for (let start = 0; start < bytes.length; start += 3800) {
      const end = Math.min(start + 3800, bytes.length);
      for (let i = start; i < end; i++) {
        a += bytes[i] ?? 0;
        b += a;
      }
      a %= 65_521;
      b %= 65_521;
    }
    this.#checksum = { a, b };
  }

  #chunk(type: string, data: Buffer): void {
    const head = Buffer.alloc(8);
    head.writeUInt32BE(data.length, 0);
    head.write(type, 4, 'latin1');
    const tail = Buffer.alloc(4);
    tail.writeUInt32BE(crc32(data, crc32(head.subarray(4))), 0);
    this.#output.write(Buffer.concat([head, data, tail]));
  }
}
