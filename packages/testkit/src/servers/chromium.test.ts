import { createServer } from 'node:http';
import { chromium } from 'playwright-core';
import { afterEach, describe, expect, it } from 'vitest';
import { closeHttp, listen } from '../loopback.ts';
import { undoList } from '../undo.ts';
import { findChromium, hasChromium } from './chromium.ts';

const undo = undoList();
afterEach(() => undo.run());

describe.skipIf(!(await hasChromium()))('Chromium for tests', () => {
  it('runs the script of a page on loopback', async () => {
    const pages = createServer((_, response) => {
      response.setHeader('Content-Type', 'text/html; charset=utf-8');
      response.end('<title>before</title><script>document.title = "6 × 7 = " + 6 * 7</script>');
    });
    const port = await listen(pages);
    undo.add(() => closeHttp(pages));
    const browser = await chromium.launch(await findChromium());
    undo.add(() => browser.close());
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${port}`);
    expect(await page.title()).toBe('6 × 7 = 42');
  }, 60_000);
});
