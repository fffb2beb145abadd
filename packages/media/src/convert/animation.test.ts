import { crc32, deflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { convertApng } from './apng.ts';
import { convertApplePng } from './apple-png.ts';
import { Canvas } from './canvas.ts';
import { writeGif } from './gif-write.ts';
import { convertHeic } from './heic.ts';
import { difference, fixture, pixelAt, readPng, written } from '../testing/images.ts';
import { readGif } from '../testing/read-gif.ts';
import type { Gif } from '../testing/read-gif.ts';

const chunk = (type: string, data: Buffer) => {
  const [head, tail] = [Buffer.alloc(8), Buffer.alloc(4)];
  head.writeUInt32BE(data.length);
  head.write(type, 4, 'latin1');
  tail.writeUInt32BE(crc32(Buffer.concat([head.subarray(4), data])));
  return Buffer.concat([head, data, tail]);
};

interface Step {
  x?: number;
  y?: number;
  width: number;
  height: number;
  colour: [number, number, number, number];
  delay?: [number, number];
  dispose?: number;
  blend?: number;
}

function apng(width: number, height: number, steps: Step[], plays = 0, announced = steps.length): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width);
  header.writeUInt32BE(height, 4);
  header.set([8, 6], 8);
  const control = Buffer.alloc(8);
  control.writeUInt32BE(announced);
  control.writeUInt32BE(plays, 4);
  const frames = steps.flatMap(
    ({ x = 0, y = 0, width: w, height: h, colour, delay = [1, 10], dispose = 0, blend = 0 }, index) => {
      const fcTL = Buffer.alloc(26);
      [w, h, x, y].forEach((value, field) => fcTL.writeUInt32BE(value, 4 + field * 4));
      fcTL.writeUInt16BE(delay[0], 20);
      fcTL.writeUInt16BE(delay[1], 22);
      fcTL.set([dispose, blend], 24);
      const row = Buffer.from([0, ...Array.from({ length: w }, () => colour).flat()]);
      const data = deflateSync(Buffer.concat(Array.from({ length: h }, () => row)));
      return [
        chunk('fcTL', fcTL),
        index === 0 ? chunk('IDAT', data) : chunk('fdAT', Buffer.concat([Buffer.alloc(4), data])),
      ];
    },
  );
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('acTL', control),
    ...frames,
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

const RED: [number, number, number, number] = [255, 0, 0, 255];
const BLUE: [number, number, number, number] = [0, 0, 255, 255];
const gifOf = async (file: Buffer): Promise<Gif> =>
  readGif((await written((output) => convertApng(file, output))).bytes);
const seen = (gif: Gif, frame: number, x: number, y: number) =>
  pixelAt({ width: gif.width, rgba: gif.frames[frame]?.rgba ?? new Uint8Array() }, x, y);

describe('animated PNG', () => {
  it('I8 converts three frames with alpha to the expected GIF', async () => {
    const gif = await gifOf(fixture('apng-3frames-alpha.png'));
    const expected = readGif(fixture('apng-3frames-alpha.expected.gif'));
    expect(gif).toMatchObject({ width: expected.width, height: expected.height, repeat: expected.repeat });
    expect(gif.frames.map(({ delayMs }) => delayMs)).toEqual(expected.frames.map(({ delayMs }) => delayMs));
    for (const [index, { rgba }] of expected.frames.entries()) {
      expect(difference(rgba, gif.frames[index]?.rgba ?? new Uint8Array())).toBeLessThan(1);
    }
  });

  it('I8 draws a partial frame at its position and keeps it', async () => {
    const gif = await gifOf(
      apng(4, 4, [
        { width: 4, height: 4, colour: RED },
        { x: 1, y: 2, width: 2, height: 1, colour: BLUE },
        { x: 3, y: 3, width: 1, height: 1, colour: BLUE },
      ]),
    );
    expect([seen(gif, 1, 0, 0), seen(gif, 1, 1, 2), seen(gif, 1, 3, 2)]).toEqual([RED, BLUE, RED]);
    expect([seen(gif, 2, 2, 2), seen(gif, 2, 3, 3)]).toEqual([BLUE, BLUE]);
  });

  it('I8 clears the area of a frame with dispose 1', async () => {
    const gif = await gifOf(
      apng(3, 1, [
        { width: 3, height: 1, colour: RED },
        { x: 1, width: 1, height: 1, colour: BLUE, dispose: 1 },
        { x: 2, width: 1, height: 1, colour: BLUE },
      ]),
    );
    expect(seen(gif, 2, 0, 0)).toEqual(RED);
    expect(seen(gif, 2, 1, 0)[3]).toBe(0);
  });

  it('I8 restores the area of a frame with dispose 2', async () => {
    const gif = await gifOf(
      apng(2, 1, [
        { width: 2, height: 1, colour: RED },
        { width: 1, height: 1, colour: BLUE, dispose: 2 },
        { x: 1, width: 1, height: 1, colour: BLUE },
      ]),
    );
    expect([seen(gif, 1, 0, 0), seen(gif, 2, 0, 0)]).toEqual([BLUE, RED]);
  });

  it('I8 blends a translucent frame or replaces what is below it', async () => {
    const veil: [number, number, number, number] = [0, 0, 255, 128];
    const nothing: [number, number, number, number] = [0, 0, 0, 0];
    const file = (blend: number, colour: [number, number, number, number]) =>
      apng(1, 1, [
        { width: 1, height: 1, colour: RED },
        { width: 1, height: 1, colour, blend },
      ]);
    const [red, green, blue, alpha] = seen(await gifOf(file(1, veil)), 1, 0, 0);
    expect({ alpha, green }).toEqual({ alpha: 255, green: 0 });
    expect(Math.abs((red ?? 0) - (blue ?? 0))).toBeLessThan(12);
    expect(seen(await gifOf(file(1, nothing)), 1, 0, 0)).toEqual(RED);
    expect(seen(await gifOf(file(0, nothing)), 1, 0, 0)[3]).toBe(0);
  });

  it.each([
    [0, 0],
    [1, undefined],
    [5, 4],
  ])('I8 keeps %i repetitions', async (plays, repeat) => {
    expect((await gifOf(apng(1, 1, [{ width: 1, height: 1, colour: RED }], plays))).repeat).toBe(repeat);
  });

  it('I8 keeps the total duration of delays that GIF cannot express', async () => {
    const delays: [number, number][] = [
      [1, 30],
      [1, 30],
      [1, 30],
      [1, 60],
      [100, 0],
      [7, 1000],
    ];
    const gif = await gifOf(
      apng(
        1,
        1,
        delays.map((delay) => ({ width: 1, height: 1, colour: RED, delay })),
      ),
    );
    expect(gif.frames.map(({ delayMs }) => delayMs)).toEqual([30, 40, 30, 20, 1000, 20]);
  });

  it('I8 keeps a fully transparent frame', async () => {
    const gif = await gifOf(apng(2, 2, [{ width: 2, height: 2, colour: [0, 0, 0, 0] }]));
    expect(seen(gif, 0, 1, 1)[3]).toBe(0);
  });

  it('I8 rejects a frame outside the canvas, too many frames, too many pixels and a truncated file', async () => {
    const small: Step = { width: 1, height: 1, colour: RED };
    await expect(gifOf(apng(2, 2, [{ ...small, x: 2 }]))).rejects.toThrow('damaged');
    await expect(
      gifOf(
        apng(
          1,
          1,
          Array.from({ length: 301 }, () => small),
        ),
      ),
    ).rejects.toThrow('too many frames');
    await expect(gifOf(apng(60_000, 60_000, [small]))).rejects.toThrow('too large (60000 × 60000)');
    await expect(
      gifOf(
        apng(
          1000,
          1000,
          Array.from({ length: 101 }, () => small),
        ),
      ),
    ).rejects.toThrow('too large');
    const whole = fixture('apng-3frames-alpha.png');
    await expect(gifOf(whole.subarray(0, 400))).rejects.toThrow('truncated');
  });
});

describe('animated HEIC', () => {
  it.each(['animation.heics', 'animation-only.heics'])(
    'I8 keeps the frames, delays and alpha of %s',
    async (name) => {
      const { bytes, result } = await written((output) => convertHeic(fixture(name), output));
      expect(result).toEqual({ type: 'image/gif' });
      const gif = readGif(bytes);
      expect(gif).toMatchObject({ width: 64, height: 64, repeat: 0 });
      expect(gif.frames.map(({ delayMs }) => delayMs)).toEqual([100, 200, 100, 300]);
      const colours = [
        [220, 40, 60],
        [40, 180, 80],
        [40, 80, 220],
        [230, 200, 40],
      ];
      for (const [index, colour] of colours.entries()) {
        const [red = 0, green = 0, blue = 0, alpha] = seen(gif, index, 16 + index * 10, 32);
        expect(alpha).toBe(255);
        expect(
          Math.max(...[red, green, blue].map((value, i) => Math.abs(value - (colour[i] ?? 0)))),
        ).toBeLessThan(8);
        expect(seen(gif, index, 2, 2)[3]).toBe(0);
      }
      expect(seen(gif, 2, 16, 32)[3]).toBe(0);
    },
  );

  it.each([
    ['predicted.heics', 6, {}],
    ['reordered.heics', 5, { note: 'only 5 of the 6 frames of an animation are shown' }],
  ])('I8 decodes the predicted frames of %s in order', async (name, count, note) => {
    const { bytes, result } = await written((output) => convertHeic(fixture(name), output));
    expect(result).toEqual({ type: 'image/gif', ...note });
    const { frames, width } = readGif(bytes);
    expect(frames.map(({ delayMs }) => delayMs)).toEqual(Array.from({ length: count }, () => 50));
    for (const [index, { rgba }] of frames.entries()) {
      expect(Math.abs(middleOfRed(rgba, width) - (20 + 17 * index))).toBeLessThan(2);
    }
  });

  it('I8 shows the still image of a sticker whose frames cannot be decoded', async () => {
    const file = Buffer.from(fixture('animation.heics'));
    // The frames are in the first of two mdat boxes.
    const start = file.indexOf('mdat') + 4;
    file.fill(0xff, start, start + file.readUInt32BE(start - 8) - 8);
    const { bytes, result } = await written((output) => convertHeic(file, output));
    expect(result).toEqual({ type: 'image/png', note: 'only the still image of an animation is shown' });
    expect(readPng(bytes)).toMatchObject({ width: 120, height: 100, channels: 4 });
  });
});

function middleOfRed(rgba: Uint8Array, width: number): number {
  const columns: number[] = [];
  for (let pixel = 0; pixel < rgba.length / 4; pixel++) {
    if ((rgba[pixel * 4] ?? 0) > 190 && (rgba[pixel * 4 + 1] ?? 0) < 80) columns.push(pixel % width);
  }
  return columns.reduce((sum, column) => sum + column, 0) / columns.length;
}

describe('Canvas', () => {
  it('I8 keeps an image that is drawn over nothing', () => {
    const canvas = new Canvas(2, 1);
    const rgba = Uint8Array.of(10, 20, 30, 128, 40, 50, 60, 255);
    canvas.draw({ x: 0, y: 0, width: 2, height: 1, rgba }, 'over');
    expect(canvas.rgba).toEqual(rgba);
  });
});

describe('writeGif', () => {
  it('I8 reduces more colours than a GIF has to the nearest ones', async () => {
    const size = { width: 64, height: 64 };
    const rgba = Uint8Array.from(
      { length: 64 * 64 * 4 },
      (_, index) => [((index >> 2) % 64) << 2, (index >> 8) << 2, 90, 255][index & 3] ?? 0,
    );
    const { bytes } = await written((output) => writeGif(output, size, 0, [{ rgba, delayMs: 100 }]));
    expect(difference(rgba, readGif(bytes).frames[0]?.rgba ?? new Uint8Array())).toBeLessThan(5);
  });
});

describe("Apple's PNG variant", () => {
  it('I8 is converted to a standard PNG with straight alpha', async () => {
    const { bytes } = await written((output) => convertApplePng(fixture('apple.png'), output));
    const image = readPng(bytes);
    expect(pixelAt(image, 0, 0)).toEqual([200, 100, 40, 255]);
    expect(difference(Uint8Array.of(200, 100, 40, 128), Uint8Array.from(pixelAt(image, 4, 1)))).toBeLessThan(
      1,
    );
    expect(pixelAt(image, 7, 3)[3]).toBe(0);
  });
});
