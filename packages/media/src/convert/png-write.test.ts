import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PngWriter } from './png-write.ts';
import { readPng, written } from '../testing/images.ts';

async function writePng(
  width: number,
  height: number,
  channels: 3 | 4,
  pixels: Uint8Array,
  profile?: Uint8Array,
) {
  const { bytes } = await written((output) => {
    const writer = new PngWriter(output, { width, height }, channels, profile);
    for (let row = 0; row < height; row++) {
      writer.row(pixels.subarray(row * width * channels, (row + 1) * width * channels));
    }
    writer.finish();
  });
  return readPng(bytes);
}

describe('PngWriter', () => {
  it('I8 writes any image without loss', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 1, max: 20 }),
        fc.constantFrom(3 as const, 4 as const),
        fc.infiniteStream(fc.nat(255)),
        async (width, height, channels, bytes) => {
          const pixels = Uint8Array.from(bytes.take(width * height * channels));
          const image = await writePng(width, height, channels, pixels);
          expect(image).toMatchObject({ width, height, channels });
          const expected = channels === 4 ? pixels : withoutAlpha(pixels);
          expect(Buffer.from(image.rgba).equals(expected)).toBe(true);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('I8 writes many bands as one stream', async () => {
    const [width, height] = [500, 1100];
    const pixels = Uint8Array.from({ length: width * height * 4 }, (_, index) => (index * 31) ^ (index >> 9));
    const { rgba } = await writePng(width, height, 4, pixels);
    expect(Buffer.from(rgba).equals(pixels)).toBe(true);
  });

  it('I8 keeps a colour profile', async () => {
    const profile = Uint8Array.from({ length: 500 }, (_, index) => index);
    expect((await writePng(1, 1, 4, Uint8Array.of(1, 2, 3, 4), profile)).profile).toEqual(profile);
  });
});

const withoutAlpha = (rgb: Uint8Array) =>
  Uint8Array.from({ length: (rgb.length / 3) * 4 }, (_, index) =>
    index % 4 === 3 ? 255 : (rgb[Math.floor(index / 4) * 3 + (index % 4)] ?? 0),
  );
