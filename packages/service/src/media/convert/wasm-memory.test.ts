import { describe, expect, it } from 'vitest';
import { withMemoryBound } from './wasm-memory.ts';

/** The little of WebAssembly that the test needs; Node's types leave it to the browser's. */
declare const WebAssembly: {
  Module: new (program: Uint8Array) => object;
  Instance: new (module: object) => { exports: { memory: { grow(pages: number): number } } };
};

/** Exports one memory: a page at first, `maximum` of them at most, or as many as the machine has. */
const program = (maximum?: number[]): Buffer => {
  const limits = maximum ? [1, 1, ...maximum] : [0, 1];
  return Buffer.from([
    ...Buffer.from('\0asm\x01\0\0\0', 'latin1'),
    ...section(5, [1, ...limits]),
    ...section(7, [1, 6, ...Buffer.from('memory'), 2, 0]),
  ]);
};

const section = (id: number, content: number[]) => [id, content.length, ...content];

describe('the memory of a decoder', () => {
  it.each([
    ['none', program()],
    ['4 GB', program([0x80, 0x80, 0x04])],
  ])('I8 ends at our bound where its own was %s', (_, bytes) => {
    const memoryOf = (code: Buffer) => new WebAssembly.Instance(new WebAssembly.Module(code)).exports.memory;
    expect(memoryOf(bytes).grow(300)).toBe(1);
    const bounded = memoryOf(withMemoryBound(bytes, 10 * 64 * 1024));
    expect(() => bounded.grow(10)).toThrow(RangeError);
    expect(bounded.grow(9)).toBe(1);
  });

  it('I8 a program without a memory of its own is an error, not a risk', () => {
    expect(() => withMemoryBound(Buffer.from('\0asm\x01\0\0\0', 'latin1'), 1024)).toThrow(
      'cannot be bounded',
    );
  });
});
