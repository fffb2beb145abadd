/** What happened to the parts of a message after it was sent. */
export interface SummaryInfo {
  readonly retracted: readonly number[];
  readonly edited: readonly number[];
}

/**
 * Reads `message_summary_info`, a binary property list. An unreadable list counts as empty. Only two lists of numbers are read, because a
 * small property list can refer to the same large object thousands of times (T58).
 */
export function readSummaryInfo(bytes: Uint8Array): SummaryInfo {
  try {
    if (bytes.byteLength > MAX_BYTES) throw new Error('too large');
    const list = new PropertyList(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    return { retracted: list.numbersAt('rp'), edited: list.numbersAt('ep') };
  } catch {
    return { retracted: [], edited: [] };
  }
}

const MAX_BYTES = 4 * 1024 * 1024;
const TRAILER_BYTES = 32;
const [INTEGER, ASCII, ARRAY, DICTIONARY] = [1, 5, 10, 13];

/** The kind of an object, the number of its bytes or items, and where they begin. */
interface Head {
  readonly kind: number;
  readonly length: number;
  readonly start: number;
}

/** A property list whose root is a dictionary. The methods throw when the list is damaged. */
class PropertyList {
  readonly #bytes: Buffer;
  readonly #offsetBytes: number;
  readonly #referenceBytes: number;
  readonly #offsets: number;
  readonly #root: Head;

  constructor(bytes: Buffer) {
    if (bytes.toString('latin1', 0, 8) !== 'bplist00') throw new Error('not a binary property list');
    const trailer = bytes.length - TRAILER_BYTES;
    this.#bytes = bytes;
    this.#offsetBytes = bytes.readUInt8(trailer + 6);
    this.#referenceBytes = bytes.readUInt8(trailer + 7);
    this.#offsets = this.#integer(trailer + 24, 8);
    this.#root = this.#head(this.#integer(trailer + 16, 8));
    if (this.#root.kind !== DICTIONARY) throw new Error('not a dictionary');
  }

  /** Returns the integers in the list under a key, and skips other items. */
  numbersAt(key: string): number[] {
    const object = this.#valueOf(key);
    const list = object === undefined ? undefined : this.#head(object);
    if (list?.kind !== ARRAY) return [];
    const numbers: number[] = [];
    for (let item = 0; item < list.length; item++) {
      const { kind, length, start } = this.#head(this.#reference(list, item));
      const number = kind === INTEGER ? this.#integer(start, 2 ** length) : NaN;
      if (Number.isSafeInteger(number)) numbers.push(number);
    }
    return numbers;
  }

  #valueOf(key: string): number | undefined {
    for (let entry = 0; entry < this.#root.length; entry++) {
      const { kind, length, start } = this.#head(this.#reference(this.#root, entry));
      const isKey = kind === ASCII && length === key.length;
      if (isKey && this.#bytes.toString('latin1', start, start + length) === key)
        return this.#reference(this.#root, this.#root.length + entry);
    }
    return undefined;
  }

  #reference({ start }: Head, item: number): number {
    return this.#integer(start + item * this.#referenceBytes, this.#referenceBytes);
  }

  #head(object: number): Head {
    const at = this.#integer(this.#offsets + object * this.#offsetBytes, this.#offsetBytes);
    const mark = this.#bytes.readUInt8(at);
    const kind = mark >> 4;
    const info = mark & 15;
    if (info < 15) return { kind, length: info, start: at + 1 };
    const lengthBytes = 2 ** (this.#bytes.readUInt8(at + 1) & 15);
    return { kind, length: this.#integer(at + 2, lengthBytes), start: at + 2 + lengthBytes };
  }

  #integer(at: number, size: number): number {
    return size === 8 ? Number(this.#bytes.readBigInt64BE(at)) : this.#bytes.readUIntBE(at, size);
  }
}
