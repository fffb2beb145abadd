const PAGE_BYTES = 64 * 1024;
const MEMORY_SECTION = 5;
const EXPORT_SECTION = 7;

type Program = Buffer<ArrayBuffer>;

/** Returns a function that compiles the program on its first call: one process converts many files with it. */
export function compiledOnce(read: () => Program): () => WebAssembly.Module {
  let compiled: WebAssembly.Module | undefined;
  return () => (compiled ??= new WebAssembly.Module(read()));
}

/**
 * Limits the memory of a WebAssembly program. Decoders are compiled to take up to gigabytes, and a hostile file makes
 * them do so. Beyond the limit an allocation fails inside the program, as on a machine that is out of memory.
 */
export function withMemoryBound(program: Buffer, maxBytes: number): Program {
  return withSection(program, MEMORY_SECTION, (content) => {
    // One memory: a count, flags (bit 0: a maximum follows), the initial pages, and the maximum that is replaced.
    const initial = readNumber(content, 2).value;
    const bound = Math.max(initial, Math.floor(maxBytes / PAGE_BYTES));
    return Buffer.from([1, 1, ...writeNumber(initial), ...writeNumber(bound)]);
  });
}

/** Exports the first global of a program under a name: compilers keep the stack pointer there. */
export function withStackPointer(program: Buffer, name: string): Program {
  return withSection(program, EXPORT_SECTION, (content) => {
    const { value: count, next } = readNumber(content, 0);
    const entry = Buffer.from([...writeNumber(name.length), ...Buffer.from(name, 'latin1'), 3, 0]);
    return Buffer.concat([Buffer.from(writeNumber(count + 1)), content.subarray(next), entry]);
  });
}

function withSection(program: Buffer, wanted: number, edit: (content: Buffer) => Buffer): Program {
  for (let at = 8; at < program.length;) {
    const size = readNumber(program, at + 1);
    const end = size.next + size.value;
    if (program[at] === wanted) {
      const content = edit(program.subarray(size.next, end));
      const head = Buffer.from([wanted, ...writeNumber(content.length)]);
      return Buffer.concat([program.subarray(0, at), head, content, program.subarray(end)]);
    }
    at = end;
  }
  throw new Error(`the WebAssembly program has no section ${wanted}`);
}

/** Numbers are LEB128: seven bits per byte, the lowest first, the top bit set while more follow. */
function readNumber(bytes: Buffer, at: number): { value: number; next: number } {
  let value = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = bytes.readUInt8(at++);
    value += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) return { value, next: at };
  }
}

function writeNumber(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...writeNumber(value >>> 7)];
}
