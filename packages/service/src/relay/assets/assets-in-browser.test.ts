import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';

import { ATTACHMENT_PROGRAM } from '@footbridge/media/attachment-converter';
import { Converter } from '@footbridge/media/converter';
import { safeFileName } from '@footbridge/media/file-name';
import { mediaType } from '@footbridge/media/media-types';
import { sniff } from '@footbridge/media/sniff';
import { fixture } from '@footbridge/media/testing/images';
import { closeHttp, listen } from '@footbridge/testkit/loopback';
import { findChromium, hasChromium } from '@footbridge/testkit/servers/chromium';
import { tempDir, createCleanup } from '@footbridge/testkit/cleanup';
import { chromium } from 'playwright-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { assetResponse } from './asset-response.ts';

const latin1 = (text: string) => Buffer.from(text, 'latin1');
const SCRIPT = 'console.log("it ran")';
const PAGE = `<!doctype html><body><script>${SCRIPT}</script>`;

const HOSTILE: [string, Buffer][] = [
  ['a page called photo.png', Buffer.from(PAGE)],
  ['a page that starts as text', Buffer.from(`hello ${PAGE}`)],
  [
    'an SVG with a script',
    Buffer.from(
      `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>${SCRIPT}</script></svg>`,
    ),
  ],
  [
    'an SVG after a prolog',
    Buffer.from(`<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" onload='${SCRIPT}'/>`),
  ],
  [
    'XML with a style sheet',
    Buffer.from(`<?xml version="1.0"?><x:script xmlns:x="http://www.w3.org/1999/xhtml">${SCRIPT}</x:script>`),
  ],
  ['a GIF that is also a script', latin1(`GIF89a/*\x01\0*/=1;${SCRIPT}//`)],
  ['a PNG with a page after its end', Buffer.concat([fixture('pattern.png'), Buffer.from(PAGE)])],
  ['a JPEG with a page in its comment', latin1(`\xff\xd8\xff\xfe\x01\0${PAGE}`)],
  [
    'a bitmap that is also a script',
    Buffer.concat([latin1('BM/*'), Buffer.alloc(10), Buffer.from([40, 0, 0, 0]), latin1(`*/=1;${SCRIPT}`)]),
  ],
  ['a script', Buffer.from(SCRIPT)],
  ['a page in UTF-16', Buffer.from(`\uFEFF${PAGE}`, 'utf16le')],
  ['a PDF with a page in it', latin1(`%PDF-1.4\n${PAGE}`)],
];

/** A stored file. A control is served with the content type `unsafeType` and without protection. */
interface Served {
  bytes: Buffer;
  name: string;
  type: string;
  unsafeType?: string;
}

describe.skipIf(!(await hasChromium()))('stored files in a browser', () => {
  const suite = createCleanup();
  const cleanup = createCleanup();
  const files = new Map<string, Served>();
  let converter: Converter;
  let browser: Browser;
  let page: Page;
  let said: string[];
  let assetUrl: string;
  let crmUrl: string;

  beforeAll(async () => {
    converter = await Converter.open(
      join(await tempDir(suite), 'converter'),
      { warn: () => undefined },
      { program: ATTACHMENT_PROGRAM },
    );
    suite.add(() => converter.close());
    const assets = createServer((request, response) => serve(files, request, response));
    assetUrl = `http://127.0.0.1:${await listen(assets)}`;
    suite.add(() => closeHttp(assets));
    // The CRM's page: another origin.
    const crm = createServer((_, response) =>
      response.setHeader('Content-Type', 'text/html').end('<!doctype html>'),
    );
    crmUrl = `http://127.0.0.1:${await listen(crm)}`;
    suite.add(() => closeHttp(crm));
    browser = await chromium.launch(await findChromium());
    suite.add(() => browser.close());
  }, 60_000);
  afterAll(() => suite.run());

  beforeEach(async () => {
    const context = await browser.newContext();
    cleanup.add(() => context.close());
    page = await context.newPage();
    said = [];
    context.on('console', (message) => said.push(message.text()));
    files.clear();
  });
  afterEach(() => cleanup.run());

  const store = (bytes: Buffer, name: string, type: string = sniff(bytes), unsafeType?: string): string => {
    const address = `/assets/${files.size}/${encodeURIComponent(safeFileName(name, type))}`;
    files.set(address, {
      bytes,
      name: safeFileName(name, type),
      type,
      ...(unsafeType === undefined ? {} : { unsafeType }),
    });
    return assetUrl + address;
  };

  /** Like the service: takes the type from the bytes and converts the file when the type requires it. */
  const convertAndStore = async (name: string): Promise<string> => {
    const bytes = fixture(name);
    const { convert } = mediaType(sniff(bytes));
    if (convert === undefined) return store(bytes, name);
    const result = await converter.convert(convert, async () => Readable.from([bytes]), 'tenant');
    if (!result.ok) throw new Error(result.reason);
    const converted = await readFile(result.path);
    expect(sniff(converted)).toBe(result.type);
    return store(converted, name, result.type);
  };

  const embed = (markup: string) =>
    page.goto(crmUrl).then(() => page.setContent(markup, { waitUntil: 'load' }));

  it.each([
    ['photo.heic', 320, 240],
    ['cutout.heic', 120, 100],
    ['pattern-turned.heic', 100, 120],
    ['pattern-p3.heic', 120, 100],
    ['animation.heics', 64, 64],
    ['animation.webp', 64, 64],
    ['apng-3frames-alpha.png', 64, 64],
    ['apple.png', 8, 4],
    ['cutout-lossy.webp', 120, 100],
    ['pattern-16bit.tiff', 120, 100],
  ])('I8 shows %s in a page of the CRM', async (name, width, height) => {
    await embed(`<img src="${await convertAndStore(name)}">`);
    const size = await page.locator('img').evaluate((image) => ({
      width: Reflect.get(image, 'naturalWidth'),
      height: Reflect.get(image, 'naturalHeight'),
    }));
    expect(size).toEqual({ width, height });
  });

  it('I8 keeps the delays and the transparency of an animated sticker', async () => {
    const source = await convertAndStore('animation.heics');
    await page.goto(assetUrl);
    const frames = await page.evaluate(framesOf, source);
    expect(frames).toEqual([
      { duration: 100_000, corner: 0, middle: 255 },
      { duration: 200_000, corner: 0, middle: 255 },
      { duration: 100_000, corner: 0, middle: 255 },
      { duration: 300_000, corner: 0, middle: 255 },
    ]);
  });

  it.each([
    ['voice_opus.caf', 2],
    ['voice.amr', 2],
    ['voice_pcm.caf', 0.2],
  ])('I8 plays %s in a page of the CRM', async (name, seconds) => {
    const source = await convertAndStore(name);
    await embed('<audio controls></audio>');
    const duration = await page.locator('audio').evaluate(canPlay, source);
    expect(duration).toBeGreaterThanOrEqual(seconds);
    expect(duration).toBeLessThan(seconds + 0.25);
  });

  it('I8 plays voice_aac.caf in a page of the CRM where the browser has an AAC decoder', async () => {
    const source = await convertAndStore('voice_aac.caf');
    await embed('<audio controls></audio>');
    const audio = page.locator('audio');
    const hasDecoder = await audio.evaluate(
      (element) => Reflect.get(element, 'canPlayType').call(element, 'audio/mp4; codecs="mp4a.40.2"') !== '',
    );
    const duration = await audio.evaluate(canPlay, source).catch(() => undefined);
    expect(duration).toBe(hasDecoder ? 0.5 : undefined);
  });

  it('I8 shows an image that is opened on its own', async () => {
    await page.goto(await convertAndStore('photo.heic'));
    expect(await page.locator('img').evaluate((image) => Reflect.get(image, 'naturalWidth'))).toBe(320);
  });

  it('I8 plays a recording that is opened on its own', async () => {
    await page.goto(await convertAndStore('voice_opus.caf'));
    await expect
      .poll(() => page.locator('video, audio').evaluate((media) => Reflect.get(media, 'readyState')), {
        timeout: 60_000,
      })
      .toBeGreaterThanOrEqual(2);
  });

  it.each(HOSTILE)('I8 runs no script of %s when it is opened', async (_, bytes) => {
    // A download ends the navigation with an error.
    await page.goto(store(bytes, 'photo.png')).catch(() => undefined);
    await page.waitForTimeout(50);
    expect(said).not.toContain('it ran');
  });

  it.each(HOSTILE)('I8 runs no script of %s when it is embedded', async (_, bytes) => {
    const source = store(bytes, 'photo.png');
    await embed(
      ['img src', 'iframe src', 'embed src', 'object data', 'script src', 'audio src', 'video src']
        .map((element) => `<${element}="${source}"></${element.split(' ')[0]}>`)
        .join(''),
    );
    await page.waitForTimeout(50);
    expect(said).not.toContain('it ran');
  });

  it('I8 runs the same scripts when the files are served without protection, so these tests can fail', async () => {
    await page.goto(store(Buffer.from(PAGE), 'photo.png', 'image/png', 'text/html'));
    await expect.poll(() => said, { timeout: 60_000 }).toContain('it ran');
    said.length = 0;
    const polyglot = HOSTILE.find(([name]) => name.startsWith('a GIF'))?.[1] ?? Buffer.alloc(0);
    await embed(`<script src="${store(polyglot, 'photo.gif', 'image/gif', 'text/javascript')}"></script>`);
    await expect.poll(() => said, { timeout: 60_000 }).toContain('it ran');
  });
});

function serve(files: Map<string, Served>, request: IncomingMessage, response: ServerResponse): void {
  const file = files.get(request.url ?? '');
  if (file === undefined) {
    response.setHeader('Content-Type', 'text/html').end('<!doctype html>');
    return;
  }
  if (file.unsafeType !== undefined) {
    response.setHeader('Content-Type', file.unsafeType).end(file.bytes);
    return;
  }
  const sha256 = createHash('sha256').update(file.bytes).digest('hex');
  const asset = {
    name: file.name,
    contentType: file.type,
    size: file.bytes.length,
    sha256,
    expiresAt: new Date('2100-01-01'),
  };
  const { status, headers, body } = assetResponse(asset, request.headers, new Date());
  response.writeHead(status, headers).end(body && file.bytes.subarray(body.start, body.start + body.length));
}

/** Runs in the page: returns the duration of each frame and the alpha in its corner and its middle. */
async function framesOf(source: string) {
  // @ts-expect-error -- a browser API, unknown to Node's types
  const decoder = new ImageDecoder({ data: await (await fetch(source)).arrayBuffer(), type: 'image/gif' });
  await decoder.tracks.ready;
  const frames = [];
  for (let frameIndex = 0; frameIndex < decoder.tracks.selectedTrack.frameCount; frameIndex++) {
    const { image } = await decoder.decode({ frameIndex });
    // @ts-expect-error -- likewise
    const context = new OffscreenCanvas(64, 64).getContext('2d');
    context.drawImage(image, 0, 0);
    const alpha = (x: number, y: number) => Number(context.getImageData(x, y, 1, 1).data[3]);
    frames.push({
      duration: Number(image.duration),
      corner: alpha(2, 2),
      middle: alpha(16 + frameIndex * 10, 32),
    });
  }
  return frames;
}

/** Runs in the page: resolves with the duration once the audio can be played. */
function canPlay(audio: object, source: string): Promise<number> {
  return new Promise((resolve, reject) => {
    Object.assign(audio, {
      oncanplaythrough: () => resolve(Number(Reflect.get(audio, 'duration'))),
      onerror: () => reject(new Error('the browser cannot play it')),
      src: source,
    });
  });
}
