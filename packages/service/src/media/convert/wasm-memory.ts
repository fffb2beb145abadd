const PAGE_BYTES = 64 * 1024;
const MEMORY_SECTION = 5;

/**
 * The same WebAssembly program with less memory to ask for: decoders come compiled to take up to gigabytes, and a
 * hostile file gets them to. Past the bound an allocation fails inside the program, as on a full machine.
 */
export function withMemoryBound(program: Uint8Array, maxBytes: number): Buffer<ArrayBuffer> {
  const bytes = Buffer.from(program.buffer, program.byteOffset, program.byteLength);
  for (let at = 8; at < bytes.length;) {
    const id = bytes.readUInt8(at);
    const size = readNumber(bytes, at + 1);
    if (id !== MEMORY_SECTION) {
      at = size.next + size.value;
      continue;
    }
    // One memory: a count, flags (bit 0: a maximum follows), the initial pages, and the maximum we replace.
    const initial = readNumber(bytes, size.next + 2);
    const bound = Math.max(initial.value, Math.floor(maxBytes / PAGE_BYTES));
    const section = Buffer.from([1, 1, ...writeNumber(initial.value), ...writeNumber(bound)]);
    return Buffer.concat([
      bytes.subarray(0, at),
      Buffer.from([MEMORY_SECTION, ...writeNumber(section.length)]),
      section,
      bytes.subarray(size.next + size.value),
    ]);
  }
  throw new Error('this WebAssembly program declares no memory of its own, so it cannot be bounded');
}

/** Numbers are LEB128: seven bits a byte, the lowest first, the top bit set while more follow. */
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
