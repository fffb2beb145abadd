/** Objects of the Objective-C bridge of JavaScript for Automation. Only `ObjC.unwrap` makes plain values of them. */

export class NativeText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
  dataUsingEncoding(encoding: number): NativeData {
    if (encoding !== UTF8) throw conversionError();
    return new NativeData(Buffer.from(this.text));
  }
}

export class NativeAttributedText {
  readonly string: NativeText;
  constructor(text: string) {
    this.string = new NativeText(text);
  }
}

export class NativeData {
  readonly bytes: Buffer;
  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }
}

export class NativeNumber {
  readonly value: number | boolean;
  constructor(value: number | boolean) {
    this.value = value;
  }
}

export class NativeArray {
  readonly items: readonly object[];
  constructor(items: readonly object[]) {
    this.items = items;
  }
  get count(): number {
    return this.items.length;
  }
  objectAtIndex(index: number): object {
    const item = this.items[index];
    if (item === undefined) throw new Error('index beyond bounds');
    return item;
  }
}

export class NativeDictionary {
  readonly entries: Readonly<Record<string, object>>;
  constructor(entries: Readonly<Record<string, object>>) {
    this.entries = entries;
  }
  objectForKey(key: unknown): object {
    return this.entries[requireText(key)] ?? NIL;
  }
  allKeysForObject(value: unknown): NativeArray {
    const text = requireText(value);
    const keys = Object.entries(this.entries).filter(([, found]) => unwrap(found) === text);
    return new NativeArray(keys.map(([key]) => new NativeText(key)));
  }
}

/** The object for `nil`. It has no methods. */
export const NIL: object = Object.freeze({ isNil: () => true });

const UTF8 = 4;

export function unwrap(value: unknown): unknown {
  if (value === NIL) return undefined;
  if (value instanceof NativeText) return value.text;
  if (value instanceof NativeNumber) return value.value;
  if (value instanceof NativeArray) return value.items;
  if (value instanceof NativeDictionary) return value.entries;
  return value;
}

export interface StandardStreams {
  readonly readInput: () => Buffer;
  readonly writeOutput: (bytes: Buffer) => void;
}

/** What programs use of Foundation. */
export function createFoundation({ readInput, writeOutput }: StandardStreams) {
  return {
    NSFileHandle: {
      fileHandleWithStandardInput: {
        get readDataToEndOfFile() {
          return new NativeData(readInput());
        },
      },
      fileHandleWithStandardOutput: {
        writeData: (data: unknown) => {
          if (!(data instanceof NativeData)) throw conversionError();
          writeOutput(data.bytes);
        },
      },
    },
    NSString: {
      stringWithString: (text: unknown) => new NativeText(requireText(text)),
      alloc: {
        initWithDataEncoding: (data: unknown, encoding: number) => {
          if (!(data instanceof NativeData) || encoding !== UTF8) throw conversionError();
          return new NativeText(data.bytes.toString('utf8'));
        },
      },
    },
  };
}

export function requireText(value: unknown): string {
  if (typeof value !== 'string') throw conversionError();
  return value;
}

/** The bridge converts nothing by itself: an argument of another kind is an error. */
export function conversionError(): Error {
  return Object.assign(new Error('Can’t convert types.'), { errorNumber: -1700 });
}
