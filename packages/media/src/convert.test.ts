import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { deflateSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { fixture } from './convert/testing/pictures.ts';
import { Converter } from './convert.ts';
import type { ConverterOptions } from './convert.ts';
import type { Conversion } from './media-types.ts';

const MIB = 1024 * 1024;
const pathOf = (name: string) => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));

describe('the converter', () => {
  let directory: string;
  let converter: Converter;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'footbridge-'));
    converter = new Converter();
  });
  afterEach(async () => {
    await converter.close();
    await rm(directory, { recursive: true });
  });

  const restart = async (options: ConverterOptions) => {
    await converter.close();
    converter = new Converter(options);
  };
  const convert = (conversion: Conversion, input: string, name = 'output') =>
    converter.convert({ conversion, input, output: join(directory, name) });
  const convertBytes = async (conversion: Conversion, bytes: Uint8Array) => {
    const input = join(directory, 'input');
    await writeFile(input, bytes);
    const result = await convert(conversion, input);
    await rm(input);
    return result;
  };

  it.each<[Conversion, string, string]>([
    ['heic', 'photo.heic', 'image/jpeg'],
    ['heic', 'cutout.heic', 'image/png'],
    ['heic', 'animation.heics', 'image/gif'],
    ['apng', 'apng-3frames-alpha.png', 'image/gif'],
    ['apple-png', 'apple.png', 'image/png'],
    ['tiff', 'cutout.tiff', 'image/png'],
    ['caf', 'voice_opus.caf', 'audio/wav'],
    ['amr', 'voice.amr', 'audio/wav'],
  ])('I8 %s: %s becomes %s', async (conversion, name, type) => {
    expect(await convert(conversion, pathOf(name))).toMatchObject({
      ok: true,
      type,
      size: expect.any(Number),
    });
    expect(existsSync(join(directory, 'output'))).toBe(true);
  });

  it('I8 a phone photo of 48 megapixels is converted in little memory', async () => {
    await restart({ timeoutMs: 110_000 });
    const watch = watchMemory();
    expect(await convert('heic', pathOf('photo-48mp.heic'))).toMatchObject({ ok: true, type: 'image/jpeg' });
    expect(watch.grownBy()).toBeLessThan(150 * MIB);
  }, 120_000);

  it.each<[string, Conversion, () => Uint8Array]>([
    ['a HEIC announced as 30000 × 30000', 'heic', () => fixture('bomb-grid.heic')],
    ['a PNG of zeros without end', 'apng', pngBomb],
    ['a TIFF of zeros without end', 'tiff', tiffBomb],
    ['a picture cut off', 'heic', () => fixture('photo.heic').subarray(0, 3000)],
    ['an animation cut off', 'heic', () => fixture('animation-only.heics').subarray(0, 5000)],
    ['a sound that is a picture', 'caf', () => fixture('photo.png')],
    ['nothing', 'heic', () => new Uint8Array()],
    ['rubbish', 'tiff', () => Buffer.from('II*\0rubbish', 'latin1')],
  ])('I8 %s is answered with a reason, and leaves no file', async (_, conversion, bytes) => {
    const file = bytes();
    const watch = watchMemory();
    expect(await convertBytes(conversion, file)).toEqual({ ok: false, reason: expect.any(String) });
    expect(await readdir(directory)).toEqual([]);
    expect(watch.grownBy()).toBeLessThan(150 * MIB);
  });

  it('I8 a file that is not there is an answer too', async () => {
    expect(await convert('heic', join(directory, 'missing'))).toMatchObject({ ok: false });
  });

  it('I8 a file too large to hold is refused unread', async () => {
    expect(await convertBytes('tiff', Buffer.alloc(33 * MIB))).toEqual({
      ok: false,
      reason: 'the file is too large to convert',
    });
  });

  it('I8 what takes too long is given up', async () => {
    await restart({ timeoutMs: 150 });
    const started = performance.now();
    expect(await convert('heic', pathOf('photo-48mp.heic'))).toEqual({
      ok: false,
      reason: 'converting the file takes too long',
    });
    expect(performance.now() - started).toBeLessThan(2000);
    expect(await readdir(directory)).toEqual([]);
  });

  it('I8 what takes too much memory is given up', async () => {
    await restart({ memoryBytes: 2 * MIB });
    expect(await convert('heic', pathOf('photo-48mp.heic'))).toEqual({
      ok: false,
      reason: 'converting the file takes too much memory',
    });
  });

  it('I8 a thread that dies is told of, and the file goes as it came', async () => {
    const crashes: unknown[] = [];
    await restart({ onCrash: (error) => crashes.push(error) });
    // More packets of no length than the thread's heap has room for.
    const table = Buffer.from(fixture('voice_opus.caf'));
    const at = table.indexOf('pakt');
    const packets = Buffer.concat([table.subarray(0, at + 36), Buffer.alloc(20 * MIB)]);
    packets.writeBigInt64BE(BigInt(packets.length - at - 12), at + 4);
    expect(await convertBytes('caf', packets)).toEqual({ ok: false, reason: expect.any(String) });
    expect(crashes).toHaveLength(1);
  });

  it('I8 one after the other, each gets its turn', async () => {
    const results = ['a', 'b', 'c', 'd'].map((name) => convert('heic', pathOf('cutout.heic'), name));
    expect(converter.load).toEqual({ running: 1, waiting: 3 });
    expect((await Promise.all(results)).every(({ ok }) => ok)).toBe(true);
    expect(converter.load).toEqual({ running: 0, waiting: 0 });
    expect((await readdir(directory)).sort()).toEqual(['a', 'b', 'c', 'd']);
  });

  it('I8 who has waited too long is sent on', async () => {
    await restart({ patienceMs: 100 });
    const first = convert('heic', pathOf('photo-48mp.heic'), 'first');
    expect(await convert('heic', pathOf('cutout.heic'), 'second')).toEqual({
      ok: false,
      reason: 'too many files are waiting to be converted',
    });
    expect(converter.load).toEqual({ running: 1, waiting: 0 });
    await converter.close();
    expect(await first).toMatchObject({ ok: false });
  });

  it('I8 closing ends what runs and what waits', async () => {
    const results = [
      convert('heic', pathOf('photo-48mp.heic'), 'a'),
      convert('heic', pathOf('photo.heic'), 'b'),
    ];
    await sleep(100);
    await converter.close();
    const stopped = { ok: false, reason: 'the service is stopping' };
    expect(await Promise.all(results)).toEqual([stopped, stopped]);
    expect(await convert('heic', pathOf('cutout.heic'))).toEqual(stopped);
    expect(await readdir(directory)).toEqual([]);
  });

  it('I8 twenty at once take bounded memory and leave this thread free', async () => {
    const names = ['photo.heic', 'cutout.heic', 'animation.heics', 'pattern-turned.heic', 'pattern-p3.heic'];
    const watch = watchMemory();
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        convert('heic', pathOf(names[index % names.length] ?? ''), `${index}`),
      ),
    );
    delay.disable();
    expect(results.every(({ ok }) => ok)).toBe(true);
    expect(watch.grownBy()).toBeLessThan(300 * MIB);
    expect(delay.percentile(99) / 1e6).toBeLessThan(50);
  }, 60_000);
});

function watchMemory(): { grownBy: () => number } {
  const before = process.memoryUsage.rss();
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss());
  }, 5);
  return {
    grownBy: () => {
      clearInterval(timer);
      return most - before;
    },
  };
}

/** A hundred kilobytes that would unpack to a hundred megabytes. */
const zeros = () => deflateSync(Buffer.alloc(100 * MIB));

function pngBomb(): Buffer {
  const data = zeros();
  const file = Buffer.from(fixture('apng-3frames-alpha.png'));
  const at = file.indexOf('IDAT') - 4;
  const end = at + 12 + file.readUInt32BE(at);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  return Buffer.concat([
    file.subarray(0, at),
    length,
    Buffer.from('IDAT'),
    data,
    Buffer.alloc(4),
    file.subarray(end),
  ]);
}

/** The strip of a small picture, in place of which a large one lies at the end of the file. */
function tiffBomb(): Buffer {
  const data = zeros();
  const file = Buffer.concat([fixture('pattern.tiff'), data]);
  const entries = file.readUInt32LE(4);
  for (let at = entries + 2; at < entries + 2 + file.readUInt16LE(entries) * 12; at += 12) {
    const tag = file.readUInt16LE(at);
    if (tag === 273) file.writeUInt32LE(file.length - data.length, at + 8);
    if (tag === 279) file.writeUInt32LE(data.length, at + 8);
    if (tag === 273 || tag === 279) {
      file.writeUInt16LE(4, at + 2);
      file.writeUInt32LE(1, at + 4);
    }
    if (tag === 278) file.writeUInt16LE(100, at + 8);
  }
  return file;
}
