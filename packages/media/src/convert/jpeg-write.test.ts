import { describe, expect, it } from 'vitest';
import { JpegWriter } from './jpeg-write.ts';
import { difference, fixture, readJpeg, readPng, written } from '../testing/images.ts';

async function writeJpeg(
  { width, height, rgba }: { width: number; height: number; rgba: Uint8Array },
  options: { quality: number; profile?: Uint8Array } = { quality: 85 },
) {
  const { bytes } = await written((output) => {
    const writer = new JpegWriter(output, { width, height }, options);
    for (let row = 0; row < height; row++) {
      const line = rgba.subarray(row * width * 4, (row + 1) * width * 4);
      writer.row(line.filter((_, index) => index % 4 !== 3));
    }
    writer.finish();
  });
  return bytes;
}

const soft = (width: number, height: number) => ({
  width,
  height,
  rgba: Uint8Array.from({ length: width * height * 4 }, (_, index) => {
    const [x, y] = [(index >> 2) % width, Math.floor((index >> 2) / width)];
    return (
      [128 + 100 * Math.sin(x / 9), 128 + 100 * Math.cos(y / 7), 128 + 60 * Math.sin((x + y) / 11), 255][
        index & 3
      ] ?? 0
    );
  }),
});

describe('JpegWriter', () => {
  it.each([
    [1, 1],
    [15, 17],
    [16, 16],
    [33, 8],
    [100, 75],
  ])('I8 writes an image of %i × %i', async (width, height) => {
    const image = soft(width, height);
    const read = readJpeg(await writeJpeg(image));
    expect([read.width, read.height]).toEqual([width, height]);
    expect(difference(image.rgba, read.rgba)).toBeLessThan(3);
  });

  it('I8 keeps hard edges', async () => {
    const image = readPng(fixture('photo.png'));
    const read = readJpeg(await writeJpeg(image, { quality: 95 }));
    expect(difference(image.rgba, read.rgba)).toBeLessThan(4);
  });

  it('I8 makes a smaller file with a lower quality', async () => {
    const image = soft(100, 100);
    const [low, high] = [await writeJpeg(image, { quality: 30 }), await writeJpeg(image, { quality: 95 })];
    expect(low.length * 1.5).toBeLessThan(high.length);
  });

  it('I8 keeps a colour profile of any length', async () => {
    const profile = Uint8Array.from({ length: 150_000 }, (_, index) => index * 7);
    const bytes = await writeJpeg(soft(8, 8), { quality: 85, profile });
    const parts: Buffer[] = [];
    for (let at = 2; bytes.readUInt16BE(at) !== 0xffda; at += 2 + bytes.readUInt16BE(at + 2)) {
      if (bytes.readUInt16BE(at) === 0xffe2)
        parts.push(bytes.subarray(at + 18, at + 2 + bytes.readUInt16BE(at + 2)));
    }
    expect(parts).toHaveLength(3);
    expect(Buffer.concat(parts).equals(profile)).toBe(true);
    expect(readJpeg(bytes).width).toBe(8);
  });
});
