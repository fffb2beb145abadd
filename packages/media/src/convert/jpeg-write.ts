import {
  AC_CHROMINANCE,
  AC_LUMINANCE,
  DC_CHROMINANCE,
  DC_LUMINANCE,
  quantisation,
  ZIGZAG,
} from './jpeg-tables.ts';
import type { HuffmanTable } from './jpeg-tables.ts';
import type { OutputFile } from './output-file.ts';

const BLOCK = 16;
/** The format writes a side in 16 bits. */
export const MAX_JPEG_SIDE = 65_535;

/**
 * Writes a baseline JPEG (4:2:0) row by row. Only sixteen rows are in memory at a time.
 */
export class JpegWriter {
  readonly type = 'image/jpeg';
  readonly #width: number;
  readonly #scan: Scan;
  readonly #luma: Plane;
  readonly #blue: Plane;
  readonly #red: Plane;
  readonly #paddedWidth: number;
  readonly #last: Uint8Array;
  #rowsHeld = 0;

  constructor(
    output: OutputFile,
    size: { width: number; height: number },
    options: { quality: number; profile?: Uint8Array | undefined },
  ) {
    this.#width = size.width;
    this.#paddedWidth = Math.ceil(size.width / BLOCK) * BLOCK;
    this.#last = new Uint8Array(size.width * 3);
    const tables = quantisation(options.quality);
    this.#luma = new Plane(this.#paddedWidth, tables.luminance, DC_LUMINANCE, AC_LUMINANCE);
    this.#blue = new Plane(this.#paddedWidth, tables.chrominance, DC_CHROMINANCE, AC_CHROMINANCE);
    this.#red = new Plane(this.#paddedWidth, tables.chrominance, DC_CHROMINANCE, AC_CHROMINANCE);
    output.write(header(size, tables, options.profile));
    this.#scan = new Scan(output);
  }

  /** `rgb` is one row of three bytes per pixel; the caller may reuse it. */
  row(rgb: Uint8Array): void {
    const { samples: luma } = this.#luma;
    const { samples: blue } = this.#blue;
    const { samples: red } = this.#red;
    const start = this.#rowsHeld * this.#paddedWidth;
    for (let x = 0; x < this.#paddedWidth; x++) {
      // Padding repeats the last pixel: a hard edge would cost bits and bleed into the image.
      const at = Math.min(x, this.#width - 1) * 3;
      const r = rgb[at] ?? 0;
      const g = rgb[at + 1] ?? 0;
      const b = rgb[at + 2] ?? 0;
      luma[start + x] = 0.299 * r + 0.587 * g + 0.114 * b - 128;
      blue[start + x] = -0.168736 * r - 0.331264 * g + 0.5 * b;
      red[start + x] = 0.5 * r - 0.418688 * g - 0.081312 * b;
    }
    this.#last.set(rgb.subarray(0, this.#last.length));
    this.#rowsHeld += 1;
    if (this.#rowsHeld === BLOCK) this.#encodeRows();
  }

  finish(): void {
    while (this.#rowsHeld > 0) this.row(this.#last);
    this.#scan.finish();
  }

  #encodeRows(): void {
    for (let x = 0; x < this.#paddedWidth; x += BLOCK) {
      this.#luma.encode(this.#scan, x, 0);
      this.#luma.encode(this.#scan, x + 8, 0);
      this.#luma.encode(this.#scan, x, 8);
      this.#luma.encode(this.#scan, x + 8, 8);
      this.#blue.encodeHalved(this.#scan, x);
      this.#red.encodeHalved(this.#scan, x);
    }
    this.#rowsHeld = 0;
  }
}

/** One of the three components: sixteen rows of samples and the tables to encode its blocks. */
class Plane {
  readonly samples: Float32Array;
  readonly #width: number;
  readonly #divisors: Float32Array;
  readonly #dc: HuffmanTable;
  readonly #ac: HuffmanTable;
  readonly #block = new Float32Array(64);
  readonly #coefficients = new Int32Array(64);
  #previous = 0;

  constructor(width: number, quantiser: Uint8Array, dc: HuffmanTable, ac: HuffmanTable) {
    this.#width = width;
    this.samples = new Float32Array(width * BLOCK);
    this.#divisors = divisors(quantiser);
    this.#dc = dc;
    this.#ac = ac;
  }

  encode(scan: Scan, left: number, top: number): void {
    for (let y = 0; y < 8; y++) {
      const from = (top + y) * this.#width + left;
      for (let x = 0; x < 8; x++) this.#block[y * 8 + x] = this.samples[from + x] ?? 0;
    }
    this.#code(scan);
  }

  /** Chrominance has half the resolution: each sample is the mean of four. */
  encodeHalved(scan: Scan, left: number): void {
    const { samples } = this;
    const width = this.#width;
    for (let y = 0; y < 8; y++) {
      for (let x = 0; x < 8; x++) {
        const from = y * 2 * width + left + x * 2;
        const upper = (samples[from] ?? 0) + (samples[from + 1] ?? 0);
        const lower = (samples[from + width] ?? 0) + (samples[from + width + 1] ?? 0);
        this.#block[y * 8 + x] = (upper + lower) / 4;
      }
    }
    this.#code(scan);
  }

  #code(scan: Scan): void {
    for (let row = 0; row < 64; row += 8) transform(this.#block, row, 1);
    for (let column = 0; column < 8; column++) transform(this.#block, column, 8);
    const coefficients = this.#coefficients;
    for (let i = 0; i < 64; i++) {
      const place = ZIGZAG[i] ?? 0;
      coefficients[i] = Math.round((this.#block[place] ?? 0) * (this.#divisors[place] ?? 0));
    }
    const mean = coefficients[0] ?? 0;
    scan.value(this.#dc, 0, mean - this.#previous);
    this.#previous = mean;

    let last = 63;
    while (last > 0 && coefficients[last] === 0) last -= 1;
    let zeros = 0;
    for (let i = 1; i <= last; i++) {
      const coefficient = coefficients[i] ?? 0;
      if (coefficient === 0) {
        zeros += 1;
        continue;
      }
      for (; zeros > 15; zeros -= 16) scan.symbol(this.#ac, 0xf0);
      scan.value(this.#ac, zeros, coefficient);
      zeros = 0;
    }
    if (last < 63) scan.symbol(this.#ac, 0x00);
  }
}

const SCALE = [1, 1.387039845, 1.306562965, 1.175875602, 1, 0.785694958, 0.5411961, 0.275899379];

/** The fast transform leaves each coefficient scaled; the quantiser includes the inverse scale. */
function divisors(quantiser: Uint8Array): Float32Array {
  return Float32Array.from(quantiser, (value, place) => {
    return 1 / (value * (SCALE[place >> 3] ?? 1) * (SCALE[place & 7] ?? 1) * 8);
  });
}

/** The one-dimensional DCT of Arai, Agui and Nakajima, in place. */
function transform(block: Float32Array, at: number, step: number): void {
  const value = (index: number) => block[at + index * step] ?? 0;
  const sum07 = value(0) + value(7);
  const diff07 = value(0) - value(7);
  const sum16 = value(1) + value(6);
  const diff16 = value(1) - value(6);
  const sum25 = value(2) + value(5);
  const diff25 = value(2) - value(5);
  const sum34 = value(3) + value(4);
  const diff34 = value(3) - value(4);

  const outer = sum07 + sum34;
  const outerDiff = sum07 - sum34;
  const inner = sum16 + sum25;
  const innerDiff = sum16 - sum25;
  block[at] = outer + inner;
  block[at + 4 * step] = outer - inner;
  const turned = (innerDiff + outerDiff) * 0.707106781;
  block[at + 2 * step] = outerDiff + turned;
  block[at + 6 * step] = outerDiff - turned;

  const low = diff34 + diff25;
  const middle = diff25 + diff16;
  const high = diff16 + diff07;
  const shared = (low - high) * 0.382683433;
  const lowTurned = 0.5411961 * low + shared;
  const highTurned = 1.306562965 * high + shared;
  const middleTurned = middle * 0.707106781;
  const plus = diff07 + middleTurned;
  const minus = diff07 - middleTurned;
  block[at + 5 * step] = minus + lowTurned;
  block[at + 3 * step] = minus - lowTurned;
  block[at + step] = plus + highTurned;
  block[at + 7 * step] = plus - highTurned;
}

/** The entropy-coded bits. */
class Scan {
  readonly #output: OutputFile;
  readonly #buffer = Buffer.alloc(64 * 1024);
  #length = 0;
  #bits = 0;
  #bitCount = 0;

  constructor(output: OutputFile) {
    this.#output = output;
  }

  symbol(table: HuffmanTable, symbol: number): void {
    this.#put(table.codes[symbol] ?? 0, table.lengths[symbol] ?? 0);
  }

  /** Writes the run of zeros and the bit count as one symbol, then the bits; a negative value is written minus one. */
  value(table: HuffmanTable, zeros: number, value: number): void {
    const size = 32 - Math.clz32(Math.abs(value));
    this.symbol(table, (zeros << 4) | size);
    if (size > 0) this.#put((value < 0 ? value - 1 : value) & ((1 << size) - 1), size);
  }

  finish(): void {
    this.#put(0x7f, 7);
    this.#byte(0xff);
    this.#byte(0xd9);
    this.#flush();
  }

  #put(bits: number, count: number): void {
    this.#bits = (this.#bits << count) | bits;
    this.#bitCount += count;
    while (this.#bitCount >= 8) {
      this.#bitCount -= 8;
      const byte = (this.#bits >> this.#bitCount) & 0xff;
      this.#byte(byte);
      // Byte stuffing: 0xFF in the data would start a marker.
      if (byte === 0xff) this.#byte(0);
    }
    this.#bits &= (1 << this.#bitCount) - 1;
  }

  #byte(byte: number): void {
    this.#buffer[this.#length++] = byte;
    if (this.#length === this.#buffer.length) this.#flush();
  }

  #flush(): void {
    this.#output.write(this.#buffer.subarray(0, this.#length));
    this.#length = 0;
  }
}

function header(
  { width, height }: { width: number; height: number },
  tables: ReturnType<typeof quantisation>,
  profile: Uint8Array | undefined,
): Buffer {
  const inOrder = (table: Uint8Array) => Buffer.from(ZIGZAG.map((place) => table[place] ?? 0));
  const frame = Buffer.from([8, 0, 0, 0, 0, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1]);
  frame.writeUInt16BE(height, 1);
  frame.writeUInt16BE(width, 3);
  const codes = [DC_LUMINANCE, AC_LUMINANCE, DC_CHROMINANCE, AC_CHROMINANCE];
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    segment(0xe0, Buffer.from('JFIF\0\x01\x01\0\0\x01\0\x01\0\0', 'latin1')),
    ...profileSegments(profile),
    segment(0xdb, Buffer.from([0]), inOrder(tables.luminance), Buffer.from([1]), inOrder(tables.chrominance)),
    segment(0xc0, frame),
    ...codes.map(({ id, counts, symbols }) => segment(0xc4, Buffer.from([id]), counts, symbols)),
    segment(0xda, Buffer.from([3, 1, 0x00, 2, 0x11, 3, 0x11, 0, 63, 0])),
  ]);
}

function segment(marker: number, ...data: Uint8Array[]): Buffer {
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(2 + data.reduce((sum, part) => sum + part.length, 0), 2);
  return Buffer.concat([head, ...data]);
}

/** A colour profile may need several segments. */
function profileSegments(profile: Uint8Array | undefined): Buffer[] {
  const maxBytes = 65_519;
  const count = Math.ceil((profile?.length ?? 0) / maxBytes);
  return Array.from({ length: count }, (_, index) =>
    segment(
      0xe2,
      Buffer.from('ICC_PROFILE\0'),
      Buffer.from([index + 1, count]),
      profile?.subarray(index * maxBytes, (index + 1) * maxBytes) ?? Buffer.alloc(0),
    ),
  );
}
