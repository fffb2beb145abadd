import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';

import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';

import { closeHttp, listen } from '../loopback.ts';
import { tempDir, createCleanup } from '../cleanup.ts';
import { CHROMIUM, findChromium, hasChromium, launchOptions } from './chromium.ts';
import { findOnce } from './findings.ts';

const suite = createCleanup();
const cleanup = createCleanup();
afterAll(() => suite.run());
afterEach(async () => {
  await cleanup.run();
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

describe.skipIf(!(await hasChromium()))('Chromium for tests', { timeout: 60_000 }, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch(await findChromium());
    suite.add(() => browser.close());
  });

  async function serve(html: string): Promise<number> {
    const pages = createServer((_, response) => {
      response.setHeader('Content-Type', 'text/html; charset=utf-8');
      response.end(html);
    });
    cleanup.add(() => closeHttp(pages));
    return listen(pages);
  }

  async function open(url: string) {
    const context = await browser.newContext();
    cleanup.add(() => context.close());
    const page = await context.newPage();
    await page.goto(url);
    return page;
  }

  it('runs the script of a page on loopback', async () => {
    const port = await serve('<title>before</title><script>document.title = "6 × 7 = " + 6 * 7</script>');
    const page = await open(`http://127.0.0.1:${port}`);
    expect(await page.title()).toBe('6 × 7 = 42');
  });

  it('keeps the same-origin policy', async () => {
    const secret = await serve('secret');
    const page = await open(`http://127.0.0.1:${await serve('')}`);
    const read = (port: number) =>
      `fetch('http://127.0.0.1:${port}').then((answer) => answer.text(), String)`;
    expect(await page.evaluate(read(secret))).toBe('TypeError: Failed to fetch');
    const own = Number(new URL(page.url()).port);
    expect(await page.evaluate(read(own))).toBe('');
  });

  it('isolates a frame of another site in a process of its own', async () => {
    const frame = await serve('a frame');
    const page = await open(
      `http://127.0.0.1:${await serve(`<iframe src="http://localhost:${frame}"></iframe>`)}`,
    );
    await page.frameLocator('iframe').getByText('a frame').waitFor();
    const [, inner] = page.frames();
    // Chromium refuses a session of its own to a frame that shares the process of its page.
    await expect(page.context().newCDPSession(inner ?? page)).resolves.toBeDefined();
    expect(inner?.url()).toBe(`http://localhost:${frame}/`);
  });

  it('is taken from the next source when the one at CHROMIUM_PATH does not work', async () => {
    const { path, env } = await findOnce(CHROMIUM);
    const dir = await tempDir(cleanup);
    const exports = Object.entries(env).map(([name, value]) => `export ${name}='${value}'\n`);
    const script = `#!/bin/sh\n${exports.join('')}exec '${path}' "$@"\n`;
    await writeFile(join(dir, 'chromium'), script, { mode: 0o755 });
    const broken = join(dir, 'nothing');
    vi.stubEnv('PATH', `${dir}:${process.env['PATH']}`);
    vi.stubEnv('CHROMIUM_PATH', broken);
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    expect(await CHROMIUM.find()).toEqual({ path: join(dir, 'chromium'), env: {} });
    expect(written.mock.calls).toHaveLength(1);
    const [line] = written.mock.calls[0] ?? [];
    expect(line).toMatch(
      /^using chromium \d+\.\S+ from the PATH, \S+; not CHROMIUM_PATH, \S+: does not start: .*\n$/,
    );
  });
});

describe.runIf(process.platform === 'linux')('the sandbox of Chromium', () => {
  /** On a machine whose `unshare` ends like this. */
  async function isUsed(uid: number, code: number): Promise<boolean | undefined> {
    const dir = await tempDir(cleanup);
    await writeFile(join(dir, 'unshare'), `#!/bin/sh\nexit ${code}\n`, { mode: 0o755 });
    vi.stubEnv('PATH', dir);
    vi.spyOn(process, 'getuid').mockReturnValue(uid);
    return (await launchOptions({ path: '', env: {} })).chromiumSandbox;
  }

  it('is used by every user but root', async () => {
    expect([await isUsed(1000, 0), await isUsed(0, 0)]).toEqual([true, false]);
  });

  it('is not used where the kernel refuses user namespaces', async () => {
    expect(await isUsed(1000, 1)).toBe(false);
  });
});
