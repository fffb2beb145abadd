import { deflateSync } from 'node:zlib';

/** Values at which lengths, counts and offsets go wrong. */
const EDGES = [0, 1, 2, 7, 8, 0x7f, 0x80, 0xff, 0xffff, 0x1_0000, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];
/** Pieces of a file that are made one by one; in a larger file they repeat. */
const MAX_DIFFERENT = 200;
const SMALL = 1024;
const MEDIUM = 8 * 1024;
const LARGE = 64 * 1024;

/** Chooses for one input. The same random numbers give the same input. */
export class Make {
  readonly #random: () => number;
  /** How large the input shall be, roughly: mostly small, sometimes as large as the parser allows. */
  readonly size: number;
  /** The share of lengths that are wrong: in most inputs few, so that the code behind the checks is reached. */
  readonly #wrong: number;

  constructor(random: () => number, maxSize: number) {
    this.#random = random;
    this.#wrong = this.pick([0, 0.01, 0.05, 0.3]);
    const share = random();
    const limit = share < 0.6 ? SMALL : share < 0.9 ? MEDIUM : share < 0.98 ? LARGE : maxSize;
    this.size = 16 + this.number(Math.min(limit, maxSize));
  }

  /** A whole number from 0 up to, and without, `below`. */
  number(below: number): number {
    return Math.floor(this.#random() * below);
  }

  chance(share: number): boolean {
    return this.#random() < share;
  }

  pick<T>(values: readonly T[]): T {
    const value = values[this.number(values.length)];
    if (value === undefined) throw new Error('there is nothing to choose from');
    return value;
  }

  bytes(length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length);
    for (let at = 0; at < length; at++) bytes[at] = this.number(256);
    return bytes;
  }

  /** A length, count, offset or checksum: mostly the right one. */
  length(right: number, max = 0xffff_ffff): number {
    if (!this.chance(this.#wrong)) return Math.min(right, max);
    const wrong = this.pick([right - 1, right + 1, 2 * right, this.number(this.size + 1), ...EDGES]);
    return Math.min(Math.max(0, wrong), max);
  }

  /** About `size` bytes of these pieces: all different, one over and over, or a few in turn. */
  fill(piece: () => Buffer, size = this.size): Buffer {
    const different = this.pick([1, 1, 2, 3, MAX_DIFFERENT]);
    const pieces: Buffer[] = [];
    let filled = 0;
    while (filled < size) {
      const next = pieces.length < different ? piece() : pieces[pieces.length % different];
      if (next === undefined || next.length === 0) break;
      pieces.push(next);
      filled += next.length;
    }
    return Buffer.concat(pieces);
  }

  /** Text of about `size` characters of these pieces. */
  fillText(piece: () => string, size = this.size): string {
    return this.fill(() => Buffer.from(piece(), 'utf8'), size).toString('utf8');
  }

  /** Sometimes the file with some damage: bytes and numbers changed, a part cut off, left out, repeated or copied over another one. */
  damaged(file: Buffer, share = 0.4): Buffer {
    if (!this.chance(share) || file.length === 0) return file;
    let bytes = Buffer.from(file);
    for (let count = 1 + this.number(6); count > 0 && bytes.length > 0; count--) {
      const [at, length] = [this.number(bytes.length), 1 + this.number(64)];
      const end = Math.min(bytes.length, at + length);
      const kind = this.number(6);
      if (kind === 0) bytes[at] = this.number(256);
      else if (kind === 1 && at + 4 <= bytes.length) bytes.writeUInt32BE(this.pick(EDGES), at);
      else if (kind === 2 && at + 4 <= bytes.length) bytes.writeUInt32LE(this.pick(EDGES), at);
      else if (kind === 3) bytes = bytes.subarray(0, at);
      else if (kind === 4) bytes.copy(bytes, this.number(bytes.length), at, end);
      else bytes = this.#repeated(bytes, at, end);
    }
    return bytes;
  }

  #repeated(bytes: Buffer, at: number, end: number): Buffer<ArrayBuffer> {
    const part = bytes.subarray(at, end);
    const times = this.chance(0.2) ? Math.ceil(this.size / part.length) : this.number(3);
    return Buffer.concat([
      bytes.subarray(0, at),
      ...Array.from({ length: times }, () => part),
      bytes.subarray(end),
    ]);
  }

  /** Compressed bytes: random ones, or zeros that expand a thousandfold. */
  deflated(size: number): Buffer {
    const content = this.chance(0.5)
      ? Buffer.alloc(size, this.number(256))
      : this.bytes(Math.min(size, 2048));
    return this.damaged(deflateSync(content, { level: 1 }), 0.2);
  }
}

export const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

export function u16(value: number, order: 'BE' | 'LE' = 'BE'): Buffer {
  const bytes = Buffer.alloc(2);
  if (order === 'BE') bytes.writeUInt16BE(value & 0xffff);
  else bytes.writeUInt16LE(value & 0xffff);
  return bytes;
}

export function u32(value: number, order: 'BE' | 'LE' = 'BE'): Buffer {
  const bytes = Buffer.alloc(4);
  if (order === 'BE') bytes.writeUInt32BE(value >>> 0);
  else bytes.writeUInt32LE(value >>> 0);
  return bytes;
}

export function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes;
}
