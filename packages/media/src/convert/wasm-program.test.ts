import { describe, expect, it } from 'vitest';
import { withMemoryBound, withStackPointer } from './wasm-program.ts';

/** A program that exports a memory of one page, with or without a maximum, and one global. */
const program = (maximum?: number[]): Buffer => {
  const limits = maximum ? [1, 1, ...maximum] : [0, 1];
  return Buffer.from([
    ...Buffer.from('\0asm\x01\0\0\0', 'latin1'),
    ...section(5, [1, ...limits]),
    // A mutable global, initially 42.
    ...section(6, [1, 0x7f, 1, 0x41, 42, 0x0b]),
    ...section(7, [1, 6, ...Buffer.from('memory'), 2, 0]),
  ]);
};

const section = (id: number, content: number[]) => [id, content.length, ...content];

const run = (code: Buffer) => new WebAssembly.Instance(new WebAssembly.Module(code)).exports;

function memoryOf(code: Buffer): WebAssembly.Memory {
  const { memory } = run(code);
  if (!(memory instanceof WebAssembly.Memory)) throw new Error('no memory');
  return memory;
}

describe('a WebAssembly program', () => {
  it.each([
    ['none', program()],
    ['4 GB', program([0x80, 0x80, 0x04])],
  ])('I8 gets our memory limit where its own is %s', (_, bytes) => {
    expect(memoryOf(bytes).grow(300)).toBe(1);
    const bounded = memoryOf(withMemoryBound(bytes, 10 * 64 * 1024));
    expect(() => bounded.grow(10)).toThrow(RangeError);
    expect(bounded.grow(9)).toBe(1);
  });

  it('I8 gets its stack pointer exported', () => {
    const { sp } = run(withStackPointer(program(), 'sp'));
    expect(sp).toBeInstanceOf(WebAssembly.Global);
    expect(sp).toHaveProperty('value', 42);
  });

  it('I8 is rejected when it has no memory of its own', () => {
    expect(() => withMemoryBound(Buffer.from('\0asm\x01\0\0\0', 'latin1'), 1024)).toThrow('no section 5');
  });
});
