import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { PAGES } from '@footbridge/site/contents';
import { DIST } from '@footbridge/site/site-files';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { findChromium, hasChromium } from '@footbridge/testkit/servers/chromium';
import { chromium } from 'playwright-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { writeDocs } from '../../scripts/docs.ts';
import { siteFaults } from '../../scripts/site-faults.ts';
import { startBridge } from '../bridge.ts';
import type { RunningBridge } from '../bridge.ts';

const ROOT = join(import.meta.dirname, '../..');
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const WITHIN = { timeout: 60_000 };
const cleanup = createCleanup();
afterAll(() => cleanup.run());

let bridge: RunningBridge;
beforeAll(async () => {
  await writeDocs(DIST);
  bridge = await startBridge();
  cleanup.add(() => bridge.stop());
});

const get = (path: string): Promise<Response> =>
  fetch(`${bridge.operatorUrl}${path}`, { redirect: 'manual' });

describe('the site', () => {
  it('has every document of the docs folder, and no dead links', () => {
    expect(siteFaults(ROOT)).toEqual([]);
  });

  it('has every page as HTML, as markdown and in llms.txt', () => {
    const llms = readFileSync(join(DIST, 'llms.txt'), 'utf8');
    const all = readFileSync(join(DIST, 'llms-full.txt'), 'utf8');
    for (const { name, title } of PAGES) {
      expect(existsSync(join(DIST, `${name}.html`)), name).toBe(true);
      expect(llms).toContain(`- [${title}](${name}.md)`);
      expect(all).toContain(readFileSync(join(DIST, `${name}.md`), 'utf8').split('\n')[0]);
    }
  });

  it('has no inline code, and loads nothing from other origins', () => {
    for (const name of readdirSync(DIST).filter((one) => one.endsWith('.html'))) {
      const html = readFileSync(join(DIST, name), 'utf8');
      expect(
        html.match(/<script(?! src="[\w-]+\.js">)| style=| on\w+="|<(?:link|img|source)[^>]*https?:/g),
        name,
      ).toBe(null);
    }
  });
});

describe('the operator listener', () => {
  it('serves the site without authentication, with the security headers of the console', async () => {
    const [page, console] = await Promise.all([get('/docs/'), get('/console')]);
    expect(page.status).toBe(200);
    expect(page.headers.get('Content-Type')).toBe('text/html; charset=utf-8');
    for (const name of ['Content-Security-Policy', 'Referrer-Policy', 'X-Frame-Options']) {
      expect(page.headers.get(name)).not.toBe(null);
      expect(page.headers.get(name)).toBe(console.headers.get(name));
    }
  });

  it('redirects /docs to the folder, so that relative links work', async () => {
    const response = await get('/docs');
    expect([response.status, response.headers.get('Location')]).toEqual([302, '/docs/']);
  });

  it.each(['/docs/no-such-page.html', '/docs/..%2f..%2fpackage.json', '/docs/.%2e/site-files.ts'])(
    'serves nothing outside the site: %s',
    async (path) => {
      expect((await get(path)).status).toBe(404);
    },
  );
});

describe.skipIf(!(await hasChromium()))('the site in a browser', () => {
  let browser: Browser;
  const problems: string[] = [];
  beforeAll(async () => {
    browser = await chromium.launch(await findChromium());
    cleanup.add(() => browser.close());
  });

  async function open(url: string, width: number, colorScheme: 'light' | 'dark'): Promise<Page> {
    const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme });
    cleanup.add(() => context.close());
    const page = await context.newPage();
    page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('request', (request) => {
      if (new URL(request.url()).origin !== new URL(url).origin) problems.push(request.url());
    });
    await page.goto(url);
    return page;
  }

  /** Searches for a word and opens the first result. */
  async function search(page: Page, words: string): Promise<void> {
    await page.getByRole('searchbox').fill(words);
    await page.getByRole('status').getByRole('link').first().waitFor(WITHIN);
    await page.getByRole('searchbox').press('Enter');
  }

  const violations = async (page: Page): Promise<unknown> => {
    await page.evaluate(await readFile(AXE, 'utf8'));
    return page.evaluate(
      'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]))',
    );
  };

  it.each([
    [360, 'light'],
    [360, 'dark'],
    [1440, 'light'],
    [1440, 'dark'],
  ] as const)('finds a page by a word, and is accessible: %i pixels, %s', async (width, theme) => {
    const page = await open(`${bridge.operatorUrl}/docs/`, width, theme);
    await page.getByRole('heading', { level: 1, name: 'What it is' }).waitFor(WITHIN);
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe(theme);
    expect(await violations(page)).toEqual([]);
    await search(page, 'MESSAGE_BODY_TOO_LONG');
    await page.getByRole('heading', { level: 1, name: 'Error codes' }).waitFor(WITHIN);
    expect(await violations(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    expect(problems).toEqual([]);
  });

  it('the theme switch persists on the next page', async () => {
    const page = await open(`${bridge.operatorUrl}/docs/`, 1440, 'light');
    await page.getByRole('button', { name: /theme/ }).click();
    await page.getByRole('link', { name: 'Concepts' }).first().click();
    await page.getByRole('heading', { level: 1, name: 'Concepts' }).waitFor(WITHIN);
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark');
  });

  it('works when opened from disk', async () => {
    const folder = await tempDir(cleanup);
    await writeDocs(join(folder, 'site'));
    const page = await open(pathToFileURL(join(folder, 'site/index.html')).href, 1440, 'light');
    await search(page, 'displacement');
    await page.getByRole('heading', { level: 1, name: 'Concepts' }).waitFor(WITHIN);
    expect(problems).toEqual([]);
  });
});
