/** A stretch of a message body with the same attributes. An attachment is one U+FFFC. */
export interface BodyRun {
  readonly text: string;
  readonly attributes: Readonly<Record<string, string | number>>;
}

const NEW = 0x84;
const NIL = 0x85;
const END = 0x86;
/** References are numbers from here on. */
const FIRST_REFERENCE = -110;

/** Encodes a body the way Messages stores it in `attributedBody`: an NSAttributedString written by NSArchiver. */
export function encodeBody(runs: readonly BodyRun[]): Uint8Array {
  const stream = new TypedStream();
  stream.beginObject(['NSAttributedString', 0], ['NSObject', 0]);
  stream.writeString(runs.map((run) => run.text).join(''));
  const known = new Map<string, number>();
  for (const { text, attributes } of runs) {
    const key = JSON.stringify(attributes);
    const index = known.get(key) ?? known.size + 1;
    stream.writeType('iI');
    stream.writeInteger(index);
    stream.writeInteger(text.length);
    if (!known.has(key)) stream.writeDictionary(attributes);
    known.set(key, index);
  }
  stream.endObject();
  return stream.bytes();
}

type ClassName = readonly [name: string, version: number];

/** Writes NSArchiver's format: type encodings, class names and objects are written once and then referred to by number. */
class TypedStream {
  readonly #bytes: number[] = [4, 11, ...Buffer.from('streamtyped'), 0x81, 0xe8, 0x03];
  readonly #strings = new Map<string, number>();
  readonly #classes = new Map<string, number>();
  /** Objects, classes and C strings share one numbering. */
  #objects = 0;

  bytes(): Uint8Array {
    return Uint8Array.from(this.#bytes);
  }

  beginObject(...classes: readonly ClassName[]): void {
    this.writeType('@');
    this.#bytes.push(NEW);
    this.#objects++;
    this.#writeClasses(classes);
  }

  endObject(): void {
    this.#bytes.push(END);
  }

  writeType(encoding: string): void {
    this.#writeShared(encoding);
  }

  writeInteger(value: number): void {
    if (value >= FIRST_REFERENCE && value <= 127) this.#bytes.push(value & 0xff);
    else if (value >= -0x8000 && value <= 0x7fff) this.#bytes.push(0x81, ...littleEndian(value, 2));
    else this.#bytes.push(0x82, ...littleEndian(value, 4));
  }

  writeString(text: string): void {
    this.beginObject(['NSString', 1], ['NSObject', 0]);
    this.writeType('+');
    const bytes = Buffer.from(text);
    this.writeInteger(bytes.length);
    for (const byte of bytes) this.#bytes.push(byte);
    this.endObject();
  }

  writeDictionary(values: Readonly<Record<string, string | number>>): void {
    this.beginObject(['NSDictionary', 0], ['NSObject', 0]);
    const entries = Object.entries(values);
    this.writeType('i');
    this.writeInteger(entries.length);
    for (const [name, value] of entries) {
      this.writeString(name);
      if (typeof value === 'string') this.writeString(value);
      else this.#writeNumber(value);
    }
    this.endObject();
  }

  #writeNumber(value: number): void {
    this.beginObject(['NSNumber', 0], ['NSValue', 0], ['NSObject', 0]);
    this.writeType('*');
    this.#bytes.push(NEW);
    this.#objects++;
    this.#writeShared('i');
    this.writeType('i');
    this.writeInteger(value);
    this.endObject();
  }

  /** Writes a class and its superclasses, up to the first one that is known. */
  #writeClasses(classes: readonly ClassName[]): void {
    for (const [name, version] of classes) {
      const known = this.#classes.get(name);
      if (known !== undefined) return this.writeInteger(FIRST_REFERENCE + known);
      this.#classes.set(name, this.#objects++);
      this.#bytes.push(NEW);
      this.#writeShared(name);
      this.writeInteger(version);
    }
    this.#bytes.push(NIL);
  }

  #writeShared(text: string): void {
    const known = this.#strings.get(text);
    if (known !== undefined) return this.writeInteger(FIRST_REFERENCE + known);
    this.#strings.set(text, this.#strings.size);
    this.#bytes.push(NEW);
    const bytes = Buffer.from(text);
    this.writeInteger(bytes.length);
    this.#bytes.push(...bytes);
  }
}

function littleEndian(value: number, size: 2 | 4): Uint8Array {
  const bytes = Buffer.alloc(size);
  bytes.writeIntLE(value, 0, size);
  return bytes;
}
