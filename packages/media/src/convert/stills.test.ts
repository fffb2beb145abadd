import { describe, expect, it } from 'vitest';
import { MAX_FRAMES } from './budget.ts';
import { convertHeic } from './heic.ts';
import { isoBoxes, sequenceTrack } from './iso-boxes.ts';
import { HeifFile } from './libheif.ts';
import { difference, fixture, pixelAt, readJpeg, readPng, turned, written } from '../testing/pictures.ts';
import { convertTiff } from './tiff.ts';

const pattern = readPng(fixture('pattern.png'));
const cutout = readPng(fixture('cutout.png'));

describe('HEIC', () => {
  it('I8 a photo becomes a JPEG', async () => {
    const { bytes, answer } = await written((output) => convertHeic(fixture('photo.heic'), output));
    expect(answer).toEqual({ type: 'image/jpeg' });
    expect(difference(readPng(fixture('photo.png')).rgba, readJpeg(bytes).rgba)).toBeLessThan(5);
  });

  it('I8 a cut-out becomes a PNG with its alpha', async () => {
    const { bytes, answer } = await written((output) => convertHeic(fixture('cutout.heic'), output));
    expect(answer).toEqual({ type: 'image/png' });
    const picture = readPng(bytes);
    expect(picture).toMatchObject({ width: 120, height: 100, channels: 4 });
    expect(pixelAt(picture, 2, 2)[3]).toBe(0);
    expect(difference(cutout.rgba, picture.rgba)).toBeLessThan(2);
  });

  it.each([
    ['pattern-grid.heic', pattern],
    ['pattern-turned.heic', turned(pattern)],
  ])('I8 the tiles of %s come together as if it were one piece', async (name, expected) => {
    const { bytes } = await written((output) => convertHeic(fixture(name), output));
    const jpeg = readJpeg(bytes);
    expect([jpeg.width, jpeg.height]).toEqual([expected.width, expected.height]);
    expect(difference(expected.rgba, jpeg.rgba)).toBeLessThan(9);

    const file = new HeifFile(fixture(name));
    const whole = file.decode(file.primary(), 'rgba');
    const rgba = Uint8Array.from(
      Array.from({ length: whole.height }, (_, row) => [...whole.row(row)]).flat(),
    );
    expect(difference(rgba, jpeg.rgba)).toBeLessThan(4);
  });

  it('I8 a colour profile goes along', async () => {
    const file = fixture('pattern-p3.heic');
    const start = file.indexOf('colrprof') + 8;
    const profile = file.subarray(start, start + file.readUInt32BE(start));
    const { bytes } = await written((output) => convertHeic(file, output));
    expect(bytes.includes(Buffer.concat([Buffer.from('ICC_PROFILE\0\x01\x01'), profile]))).toBe(true);
  });

  it('I8 a sequence is known by its track, however many pictures it claims', () => {
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

  it('I8 boxes that lie about their size end the reading', () => {
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
  ])('I8 %s becomes a PNG', async (name, most) => {
    const { bytes, answer } = await written((output) => convertTiff(fixture(name), output));
    expect(difference(pattern.rgba, readPng(bytes).rgba)).toBeLessThan(most);
    expect(answer).toEqual({
      type: 'image/png',
      ...(name.includes('pages') && { note: 'only the first page of a TIFF with several is shown' }),
    });
  });

  it('I8 alpha is kept', async () => {
    const { bytes } = await written((output) => convertTiff(fixture('cutout.tiff'), output));
    expect(readPng(bytes)).toMatchObject({ channels: 4, rgba: cutout.rgba });
  });

  it('I8 black and white is black and white', async () => {
    const { bytes } = await written((output) => convertTiff(fixture('pattern-mono.tiff'), output));
    expect(new Set(readPng(bytes).rgba)).toEqual(new Set([0, 255]));
  });

  it.each([
    ['none', 1, (row: Buffer) => row],
    ['PackBits', 32_773, packBits],
  ])('I8 compression: %s', async (_, compression, pack) => {
    const row = Buffer.from([9, 9, 9, 9, 9, 9, 1, 2, 3]);
    const { bytes } = await written((output) =>
      convertTiff(tiff({ 256: 3, 257: 1, 259: compression }, pack(row)), output),
    );
    expect([...readPng(bytes).rgba]).toEqual([9, 9, 9, 255, 9, 9, 9, 255, 1, 2, 3, 255]);
  });

  it('I8 alpha that was multiplied in is taken out again', async () => {
    const file = tiff({ 256: 1, 257: 1, 277: 4, 338: 1 }, Buffer.from([100, 50, 20, 128]));
    const { bytes } = await written((output) => convertTiff(file, output));
    expect([...readPng(bytes).rgba]).toEqual([199, 100, 40, 128]);
  });

  it.each<[string, Record<number, number>, string]>([
    ['more pixels than there is memory', { 256: 200_000, 257: 200_000 }, 'too large (200000 × 200000)'],
    ['a strip as large as the memory', { 256: 49_000, 257: 1000, 258: 16 }, 'too large'],
    ['more samples than a pixel has', { 256: 10, 257: 10, 277: 60_000 }, 'not supported'],
    ['a compression nobody knows', { 256: 10, 257: 10, 259: 999 }, 'not supported'],
    ['no size', { 256: 0, 257: 10 }, 'no size'],
    ['tiles of nothing', { 256: 10, 257: 10, 322: 0, 323: 0, 324: 8 }, 'damaged'],
  ])('I8 %s is refused', async (_, tags, reason) => {
    await expect(written((output) => convertTiff(tiff(tags, Buffer.alloc(4)), output))).rejects.toThrow(
      reason,
    );
  });
});

/** A TIFF of one strip; tags not named are those of RGB with eight bits. */
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
