import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';

import { silentLog } from '@footbridge/testkit/silent-log';
import { decode, encode } from 'fast-png';
import { afterAll, describe, expect, it } from 'vitest';

import { ScratchFolder } from '../../edges/scratch.ts';
import { openStickerImages } from '../../edges/sticker-images.ts';
import { stickerImage } from './sticker-image.ts';
import type { DownloadResult, JobDeps } from './job-deps.ts';

const folder = mkdtempSync(join(tmpdir(), 'footbridge-'));
const { images, close } = await openStickerImages(folder, silentLog);
afterAll(async () => {
  await close();
  rmSync(folder, { recursive: true });
});

const MIB = 1024 * 1024;
const fetched: string[] = [];
function deps(result: DownloadResult = { ok: false, reason: 'failed', message: 'no network' }): JobDeps {
  return {
    scratch: new ScratchFolder(folder),
    images,
    downloads: {
      fetch: (url: string) => {
        fetched.push(url);
        return Promise.resolve(result);
      },
    },
    workOn: () => {},
  } as unknown as JobDeps;
}

const PIXELS = {
  width: 2,
  height: 1,
  data: new Uint8Array([255, 0, 0, 255, 0, 0, 255, 128]),
  channels: 4,
} as const;
const JPEG = readFileSync(new URL('fixtures/sticker.jpg', import.meta.url));
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

describe('the image of a sticker', () => {
  it('F8 a PNG is re-encoded with the same pixels and named by its hash', async () => {
    const png = encode(PIXELS);
    const first = await stickerImage({ from: 'bytes', bytes: base64(png) }, deps());
    const again = await stickerImage(
      { from: 'bytes', bytes: `data:image/png;base64,${base64(png)}` },
      deps(),
    );
    if (!('path' in first) || !('path' in again)) throw new Error('not encoded');
    expect(first).toMatchObject({
      mime: 'image/png',
      name: expect.stringMatching(/^sticker-[0-9a-f]{24}\.png$/),
    });
    expect(again.name).toBe(first.name);
    expect([...decode(await readFile(first.path)).data]).toEqual([...PIXELS.data]);
    expect(fetched).toEqual([]);
  });

  it('F8 a JPEG is kept unchanged', async () => {
    const image = await stickerImage({ from: 'bytes', bytes: base64(JPEG) }, deps());
    if (!('path' in image)) throw new Error('not accepted');
    expect(image).toMatchObject({
      mime: 'image/jpeg',
      name: expect.stringMatching(/^sticker-[0-9a-f]{24}\.jpg$/),
    });
    expect(await readFile(image.path)).toEqual(JPEG);
  });

  it('F8 a HEIC is kept unchanged', async () => {
    const heic = Buffer.concat([Buffer.from([0, 0, 0, 16]), Buffer.from('ftypheic\0\0\0\0meta and pixels')]);
    expect(await stickerImage({ from: 'bytes', bytes: base64(heic) }, deps())).toMatchObject({
      mime: 'image/heic',
    });
  });

  it.each([
    ['an empty file', Buffer.alloc(0)],
    ['text', Buffer.from('hello')],
    ['a PNG cut short', Buffer.from(encode(PIXELS)).subarray(0, 40)],
    ['a PNG with a wrong checksum', corrupted(encode(PIXELS))],
    ['a JPEG cut short', Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16])],
    ['a JPEG without image data', JPEG.subarray(0, JPEG.indexOf(Buffer.from([0xff, 0xda])))],
    ['a JPEG without an end', JPEG.subarray(0, -2)],
    ['a JPEG of 60,000 by 60,000 pixels', jpegOf(60_000, 60_000)],
    ['a JPEG without pixels', jpegOf(0, 1)],
    ['a GIF without trailer', Buffer.from('GIF89a and no end')],
    ['a PNG of 60,000 by 60,000 pixels', bomb()],
    ['WebP', Buffer.from('RIFF\0\0\0\0WEBPVP8 ')],
    ['SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')],
  ])('M3 %s is STICKER_ENCODE_FAILED', async (_name, bytes) => {
    const image = await stickerImage({ from: 'bytes', bytes: base64(bytes) }, deps());
    expect(image).toMatchObject({ state: 'failed', code: 'STICKER_ENCODE_FAILED' });
  });

  it('T58 a PNG that inflates to 100 MB takes no memory in this process', { timeout: 60_000 }, async () => {
    const bytes = base64(inflating(100));
    const watched = watchMemory();
    const image = await stickerImage({ from: 'bytes', bytes }, deps());
    expect(image).toMatchObject({ state: 'failed', code: 'STICKER_ENCODE_FAILED' });
    expect(watched.grownBy()).toBeLessThan(64 * MIB);
  });

  it('M3 a failed download is STICKER_DOWNLOAD_FAILED', async () => {
    const sticker = { from: 'url', url: 'https://x.example/s.png' } as const;
    for (const reason of ['forbidden', 'failed', 'too-large', 'timeout'] as const) {
      const image = await stickerImage(sticker, deps({ ok: false, reason, message: 'no' }));
      expect(image).toMatchObject({ state: 'failed', code: 'STICKER_DOWNLOAD_FAILED' });
    }
  });

  it('F8 a downloaded image is encoded like given bytes', async () => {
    const scratch = new ScratchFolder(folder);
    const path = await scratch.write('fetched', encode(PIXELS));
    const given = await stickerImage({ from: 'bytes', bytes: base64(encode(PIXELS)) }, deps());
    const file = { path, name: 'x', mime: 'text/html' };
    const image = await stickerImage({ from: 'url', url: 'https://x.example/' }, deps({ ok: true, file }));
    expect('name' in image && 'name' in given && image.name === given.name).toBe(true);
  });
});

/** A PNG of two pixels whose data inflates to this many megabytes. */
function inflating(megabytes: number): Buffer {
  const png = Buffer.from(encode(PIXELS));
  const start = png.indexOf('IDAT');
  const content = Buffer.concat([Buffer.from('IDAT'), deflateSync(Buffer.alloc(megabytes * MIB))]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length - 4);
  checksum.writeUInt32BE(crc32(content));
  const end = start + 8 + png.readUInt32BE(start - 4);
  return Buffer.concat([png.subarray(0, start - 4), length, content, checksum, png.subarray(end)]);
}

function watchMemory(): { grownBy: () => number } {
  const before = process.memoryUsage.rss();
  let most = before;
  const timer = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 5);
  return {
    grownBy: () => {
      clearInterval(timer);
      return Math.max(most, process.memoryUsage.rss()) - before;
    },
  };
}

function corrupted(png: Uint8Array): Buffer {
  const bytes = Buffer.from(png);
  bytes.writeUInt32BE(0, bytes.byteLength - 16);
  return bytes;
}

function jpegOf(width: number, height: number): Buffer {
  const bytes = Buffer.from(JPEG);
  const frame = bytes.indexOf(Buffer.from([0xff, 0xc0]));
  bytes.writeUInt16BE(height, frame + 5);
  bytes.writeUInt16BE(width, frame + 7);
  return bytes;
}

/** A PNG whose header declares 14 GB of pixels. */
function bomb(): Buffer {
  const bytes = Buffer.from(encode(PIXELS));
  bytes.writeUInt32BE(60_000, 16);
  bytes.writeUInt32BE(60_000, 20);
  return bytes;
}
