import { deflateSync } from 'node:zlib';
import * as fc from 'fast-check';
import { encode } from 'fast-png';
import { describe, expect, it } from 'vitest';
import { pngChunks, pngHeader, readPixels } from './png-read.ts';
import type { PngHeader } from './png-read.ts';

function readFile(file: Uint8Array) {
  const chunks = [...pngChunks(Buffer.from(file))];
  const header = pngHeader(chunks[0]?.data ?? Buffer.alloc(0));
  return readPixels(
    Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(({ data }) => data)),
    header,
    {},
  );
}

const header = (changes: Partial<PngHeader>): PngHeader => ({
  width: 1,
  height: 1,
  depth: 8,
  colour: 6,
  interlaced: false,
  ...changes,
});

describe('readPixels', () => {
  it('I8 reads files of another encoder, interlaced or not, with 8 or 16 bits', () => {
    fc.assert(
      fc.property(
        fc.record({
          width: fc.integer({ min: 1, max: 19 }),
          height: fc.integer({ min: 1, max: 19 }),
          channels: fc.integer({ min: 1, max: 4 }),
          depth: fc.constantFrom(8 as const, 16 as const),
          interlace: fc.constantFrom('null' as const, 'Adam7' as const),
        }),
        fc.infiniteStream(fc.nat(65_535)),
        ({ width, height, channels, depth, interlace }, values) => {
          const samples = [...values.take(width * height * channels)];
          const data = depth === 16 ? Uint16Array.from(samples) : Uint8Array.from(samples);
          const rgba = readFile(encode({ width, height, channels, depth, data }, { interlace }));
          const sample = (pixel: number, channel: number) =>
            depth === 16
              ? (data[pixel * channels + channel] ?? 0) >> 8
              : (data[pixel * channels + channel] ?? 0);
          const expected = Array.from({ length: width * height }, (_, pixel) => [
            sample(pixel, 0),
            sample(pixel, channels < 3 ? 0 : 1),
            sample(pixel, channels < 3 ? 0 : 2),
            channels % 2 === 0 ? sample(pixel, channels - 1) : 255,
          ]).flat();
          expect([...rgba]).toEqual(expected);
        },
      ),
      { numRuns: 200 },
    );
  });

  it.each([
    [1, [0b10100000], [1, 0, 1]],
    [2, [0b11011000], [3, 1, 2]],
    [4, [0xf1, 0x70], [15, 1, 7]],
  ])('I8 reads %i bits per pixel, grey and with a palette', (depth, row, values) => {
    const data = deflateSync(Buffer.from([0, ...row]));
    const size = { width: 3, height: 1, depth };
    const grey = readPixels(data, header({ ...size, colour: 0 }), {});
    expect([...grey].filter((_, index) => index % 4 === 0)).toEqual(
      values.map((value) => Math.trunc((value * 255) / (2 ** depth - 1))),
    );
    const colours = Buffer.from(Array.from({ length: 16 }, (_, index) => [index, 100, 200]).flat());
    const transparency = Buffer.from([255, 7]);
    const palette = readPixels(data, header({ ...size, colour: 3 }), { colours, transparency });
    expect([...palette]).toEqual(values.flatMap((value) => [value, 100, 200, value === 1 ? 7 : 255]));
  });

  it('I8 applies a transparent colour', () => {
    const data = deflateSync(Buffer.from([0, 10, 20, 30, 10, 20, 31]));
    const transparency = Buffer.from([0, 10, 0, 20, 0, 30]);
    const rgba = readPixels(data, header({ width: 2, colour: 2 }), { transparency });
    expect([...rgba]).toEqual([10, 20, 30, 0, 10, 20, 31, 255]);
  });

  it('I8 undoes the five row filters', () => {
    const rows = [
      [0, 10, 20, 30],
      [1, 10, 10, 10],
      [2, 1, 1, 1],
      [3, 6, 5, 4],
      [4, 1, 1, 1],
    ];
    const rgba = readPixels(
      deflateSync(Buffer.from(rows.flat())),
      header({ width: 3, height: 5, colour: 0 }),
      {},
    );
    const grey = [...rgba].filter((_, index) => index % 4 === 0);
    expect(grey).toEqual([10, 20, 30, 10, 20, 30, 11, 21, 31, 11, 21, 30, 12, 22, 31]);
  });

  it('I8 rejects data that inflates beyond the size in the header', () => {
    const bomb = deflateSync(Buffer.alloc(50_000_000));
    expect(bomb.length).toBeLessThan(60_000);
    expect(() => readPixels(bomb, header({}), {})).toThrow('damaged');
  });

  it('I8 rejects truncated data', () => {
    expect(() => readPixels(deflateSync(Buffer.alloc(4)), header({}), {})).toThrow('truncated');
    expect(() => readPixels(Buffer.alloc(0), header({}), {})).toThrow(/damaged|truncated/);
  });
});
