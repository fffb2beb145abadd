import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

// A service reads the pages when it starts, so they are built before a test starts one.
import '@footbridge/console/build-console';
import type { Cleanup } from '@footbridge/testkit/cleanup';
import { findChromium } from '@footbridge/testkit/servers/chromium';
import { chromium } from 'playwright-core';
import type { BrowserContextOptions, Page } from 'playwright-core';

import type { TestBridge } from '../contract/test-bridge.ts';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
export const WITHIN = { timeout: 60_000 };

export interface View {
  readonly width?: number;
  readonly theme?: 'light' | 'dark';
}

/** Every width and theme in which the pages are checked. */
export const VIEWS = [360, 768, 1440].flatMap((width) =>
  (['light', 'dark'] as const).map((theme) => ({ width, theme })),
);

/** A browser for the console of a bridge. */
export interface ConsoleBrowser {
  /** Opens a page in a new browser context, signed in by a link that works once. */
  open(path: string, view?: View): Promise<Page>;
  /** What the browsers complained about: errors, dialogs and violations of the content security policy. */
  readonly problems: readonly string[];
}

/** Starts a browser for the console. */
export async function startConsoleBrowser(
  bridge: TestBridge,
  cleanup: Cleanup,
  options: { readonly isExpected?: (problem: string) => boolean } = {},
): Promise<ConsoleBrowser> {
  const browser = await chromium.launch(await findChromium());
  cleanup.add(() => browser.close());
  const problems: string[] = [];
  const note = (problem: string) => {
    if (options.isExpected?.(problem) !== true) problems.push(problem);
  };

  async function open(path: string, { width = 1280, theme = 'light' }: View = {}): Promise<Page> {
    const settings: BrowserContextOptions = {
      viewport: { width, height: 800 },
      colorScheme: theme,
      reducedMotion: 'reduce',
    };
    const context = await browser.newContext(settings);
    context.setDefaultTimeout(WITHIN.timeout);
    cleanup.add(() => context.close());
    const page = await context.newPage();
    page.on('console', (message) => message.type() === 'error' && note(message.text()));
    page.on('pageerror', (error) => note(String(error)));
    page.on('dialog', (dialog) => {
      note(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    const { body } = await bridge.operator('POST', '/operator/session/codes');
    await page.goto(`${bridge.bridge.operatorUrl}/console${path}#code=${String(body['code'])}`);
    await page.getByRole('button', { name: 'Sign out' }).waitFor(WITHIN);
    return page;
  }

  return { open, problems };
}

/** The accessibility violations of a page. While its lists load, elements overlap, so this is to be polled. */
export async function violations(page: Page): Promise<unknown> {
  await page.evaluate(await readFile(AXE, 'utf8'));
  return await page.evaluate(
    'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]))',
  );
}

/** The labels that the page shows before the values of the first row of its first table. */
export const columnLabels = (page: Page): Promise<unknown> =>
  page.evaluate(`[...document.querySelector('tbody tr').cells]
    .filter((cell) => getComputedStyle(cell, '::before').content !== 'none')
    .map((cell) => cell.dataset.label)`);
