import { describe, expect, it } from 'vitest';
import { MAX_FRAMES } from './budget.ts';
import { convertHeic } from './heic.ts';
import { isoBoxes, sequenceTrack } from './iso-boxes.ts';
import { HeifFile } from './libheif.ts';
import { difference, fixture, pixelAt, readJpeg, readPng, rotated, written } from '../testing/images.ts';
import { convertTiff } from './tiff.ts';

const pattern = readPng(fixture('pattern.png'));
const cutout = readPng(fixture('cutout.png'));

describe('HEIC', () => {
  it('I8 converts a small photo to PNG', async () => {
    const { bytes, result } = await written((output) => convertHeic(fixture('photo.heic'), output));
    expect(result).toEqual({ type: 'image/png' });
    expect(difference(readPng(fixture('photo.png')).rgba, readPng(bytes).rgba)).toBeLessThan(5);
  });

  it('I8 converts an image with alpha to PNG', async () => {
    const { bytes, result } = await written((output) => convertHeic(fixture('cutout.heic'), output));
    expect(result).toEqual({ type: 'image/png' });
    const image = readPng(bytes);
    expect(image).toMatchObject({ width: 120, height: 100, channels: 4 });
    expect(pixelAt(image, 2, 2)[3]).toBe(0);
    expect(difference(cutout.rgba, image.rgba)).toBeLessThan(2);
  });

  it.each([
    ['pattern-grid.heic', pattern],
    ['pattern-turned.heic', rotated(pattern)],
  ])('I8 assembles the tiles of %s', async (name, expected) => {
    const { bytes } = await written((output) => convertHeic(fixture(name), output));
    const image = readPng(bytes);
    expect([image.width, image.height]).toEqual([expected.width, expected.height]);
    expect(difference(expected.rgba, image.rgba)).toBeLessThan(9);

    const file = new HeifFile(fixture(name));
    const whole = file.decode(file.primary(), 'rgba');
    const rgba = Uint8Array.from(
      Array.from({ length: whole.height }, (_, row) => [...whole.row(row)]).flat(),
    );
    expect(difference(rgba, image.rgba)).toBeLessThan(1);
  });

  it('I8 keeps the colour profile', async () => {
    const file = fixture('pattern-p3.heic');
    const start = file.indexOf('colrprof') + 8;
    const profile = file.subarray(start, start + file.readUInt32BE(start));
    const { bytes } = await written((output) => convertHeic(file, output));
    expect(Buffer.from(readPng(bytes).profile ?? []).equals(profile)).toBe(true);
  });

  it('I8 recognises a sequence by its track, whatever number of frames it claims', () => {
    const file = Buffer.from(fixture('animation-only.heics'));
    expect(sequenceTrack(file, MAX_FRAMES)).toEqual({
      id: 1,
      width: 64,
      height: 64,
      delaysMs: [100, 200, 100, 300],
    });
    const times = file.indexOf('stts') + 12;
    file.writeUInt32BE(0xffffffff, times);
    expect(sequenceTrack(file, MAX_FRAMES)?.delaysMs).toHaveLength(MAX_FRAMES + 1);
    expect(sequenceTrack(fixture('photo.heic'), MAX_FRAMES)).toBeUndefined();
  });

  it('I8 stops reading at a box with an impossible size', () => {
    for (const size of [0xffffffff, 7, 3]) {
      const file = Buffer.from(fixture('photo.heic'));
      file.writeUInt32BE(size, 0);
      expect([...isoBoxes(file)]).toEqual([]);
    }
  });
});

describe('TIFF', () => {
  it.each([
    ['pattern.tiff', 0.01],
    ['pattern-tiled.tiff', 0.01],
    ['pattern-planar.tiff', 0.01],
    ['pattern-pages.tiff', 0.01],
    ['pattern-16bit.tiff', 1],
    ['pattern-palette.tiff', 12],
  ])('I8 converts %s to PNG', async (name, tolerance) => {
    const { bytes, result } = await written((output) => convertTiff(fixture(name), output));
    expect(difference(pattern.rgba, readPng(bytes).rgba)).toBeLessThan(tolerance);
    expect(result).toEqual({
      type: 'image/png',
      ...(name.includes('pages') && { note: 'only the first page of a TIFF with several is shown' }),
    });
  });

  it('I8 keeps alpha', async () => {
    const { bytes } = await written((output) => convertTiff(fixture('cutout.tiff'), output));
    expect(readPng(bytes)).toMatchObject({ channels: 4, rgba: cutout.rgba });
  });

  it('I8 keeps black and white', async () => {
    const { bytes } = await written((output) => convertTiff(fixture('pattern-mono.tiff'), output));
    expect(new Set(readPng(bytes).rgba)).toEqual(new Set([0, 255]));
  });

  it.each([
    ['none', 1, (row: Buffer) => row],
    ['PackBits', 32_773, packBits],
  ])('I8 reads compression %s', async (_, compression, pack) => {
    const row = Buffer.from([9, 9, 9, 9, 9, 9, 1, 2, 3]);
    const { bytes } = await written((output) =>
      convertTiff(tiff({ 256: 3, 257: 1, 259: compression }, pack(row)), output),
    );
    expect([...readPng(bytes).rgba]).toEqual([9, 9, 9, 255, 9, 9, 9, 255, 1, 2, 3, 255]);
  });

  it('I8 undoes premultiplied alpha', async () => {
    const file = tiff({ 256: 1, 257: 1, 277: 4, 338: 1 }, Buffer.from([100, 50, 20, 128]));
    const { bytes } = await written((output) => convertTiff(file, output));
    expect([...readPng(bytes).rgba]).toEqual([199, 100, 40, 128]);
  });

  it('I8 converts a large opaque image to JPEG', async () => {
    const [width, height] = [2000, 800];
    const data = Buffer.from(Array.from({ length: width * height * 3 }, (_, index) => (index % 6000) / 30));
    const { bytes, result } = await written((output) =>
      convertTiff(tiff({ 256: width, 257: height }, data), output),
    );
    expect(result).toEqual({ type: 'image/jpeg' });
    const image = readJpeg(bytes);
    expect([image.width, image.height]).toEqual([width, height]);
    expect(Math.abs((image.rgba[4 * 1000] ?? 0) - 100)).toBeLessThan(4);
    expect(bytes.length).toBeLessThan(data.length / 10);
  });

  it.each<[string, Record<number, number>, string]>([
    ['more pixels than the limit', { 256: 200_000, 257: 200_000 }, 'too large (200000 × 200000)'],
    ['a strip over the memory limit', { 256: 49_000, 257: 1000, 258: 16 }, 'too large'],
    ['60,000 samples per pixel', { 256: 10, 257: 10, 277: 60_000 }, 'not supported'],
    ['an unknown compression', { 256: 10, 257: 10, 259: 999 }, 'not supported'],
    ['a width of zero', { 256: 0, 257: 10 }, 'no size'],
    ['tiles without a size', { 256: 10, 257: 10, 322: 0, 323: 0, 324: 8 }, 'damaged'],
  ])('I8 rejects %s', async (_, tags, reason) => {
    await expect(written((output) => convertTiff(tiff(tags, Buffer.alloc(4)), output))).rejects.toThrow(
      reason,
    );
  });
});

it('T51 rejects a TIFF whose strips are all the whole file', async () => {
  const doingNothing = Buffer.alloc(100_000, 0x80);
  const file = tiff({ 256: 1, 257: 2000, 259: 32_773, 278: 1 }, doingNothing);
  await expect(written((output) => convertTiff(file, output))).rejects.toThrow('damaged');
});

/** A TIFF of one strip; the default tags are those of RGB with eight bits. */
function tiff(tags: Record<number, number>, data: Buffer): Buffer {
  const all = { 258: 8, 259: 1, 262: 2, 273: 8, 277: 3, 279: data.length, ...tags };
  const entries = Object.entries(all).map(([tag, value]) => {
    const entry = Buffer.alloc(12);
    entry.writeUInt16LE(Number(tag), 0);
    entry.writeUInt16LE(4, 2);
    entry.writeUInt32LE(1, 4);
    entry.writeUInt32LE(value, 8);
    return entry;
  });
  const head = Buffer.from('II*\0\0\0\0\0', 'latin1');
  head.writeUInt32LE(8 + data.length, 4);
  const count = Buffer.from([entries.length, 0]);
  return Buffer.concat([head, data, count, ...entries, Buffer.alloc(4)]);
}

function packBits(row: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from([256 - 5, row[0] ?? 0]),
    Buffer.from([2]),
    row.subarray(6),
    Buffer.from([128]),
  ]);
}
