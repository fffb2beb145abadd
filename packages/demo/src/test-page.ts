import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

import type { Cleanup } from '@footbridge/testkit/cleanup';
import { findChromium } from '@footbridge/testkit/servers/chromium';
import { chromium } from 'playwright-core';
import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';

import { buildDemoPage } from './build-page.ts';
import type { BuiltPage } from '@footbridge/ui/build-page';
import { startDemo } from './demo.ts';
import type { Demo } from './demo.ts';
import { runFirstConversation } from './first-conversation.ts';
import { startPage } from './page-server.ts';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
export const WITHIN = { timeout: 60_000 };

export interface OpenOptions {
  readonly width?: number;
  readonly height?: number;
  readonly theme?: 'light' | 'dark';
  readonly tour?: boolean;
  readonly motion?: boolean;
  readonly url?: string;
}

interface OpenPage {
  readonly page: Page;
  readonly phone: Locator;
  readonly wire: Locator;
  readonly inbox: Locator;
  readonly breaks: Locator;
}

type AtEnd = (task: () => Promise<void>) => void;

/** A running demo with its page, for tests in a real browser. */
export interface TestPage {
  readonly demo: Demo;
  readonly built: BuiltPage;
  open(options: OpenOptions, atEnd: AtEnd): Promise<OpenPage>;
}

/** Starts the demo, has the first conversation, and serves the page. */
export async function startTestPage(cleanup: Cleanup): Promise<TestPage> {
  const ignoreStep = () => undefined;
  const [built, demo, browser] = await Promise.all([
    buildDemoPage(),
    startDemo({ service: 0, operator: 0, crm: 0 }, ignoreStep, cleanup),
    findChromium().then((found) => chromium.launch(found)),
  ]);
  cleanup.add(() => browser.close());
  await runFirstConversation(demo, ignoreStep);
  const pageUrl = await startPage(demo, 0, built, cleanup);

  /** Opens the page in a new browser context. Errors and warnings in the console, such as CSP violations, fail the test. */
  async function open(options: OpenOptions, atEnd: AtEnd): Promise<OpenPage> {
    const { width = 1440, height = 900, theme = 'light', tour = false, url = pageUrl } = options;
    const context = await browser.newContext({
      viewport: { width, height },
      colorScheme: theme,
      reducedMotion: options.motion === true ? 'no-preference' : 'reduce',
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    atEnd(() => context.close());
    if (!tour) await context.addInitScript("localStorage.setItem('footbridge-tour', 'seen')");
    context.setDefaultTimeout(WITHIN.timeout);
    const page = await context.newPage();
    const problems: string[] = [];
    page.on('console', (message) => {
      const isProblem = message.type() === 'error' || message.type() === 'warning';
      // A test with its own server stops it, so network errors are expected there.
      const isExpected = url !== pageUrl && message.text().includes('net::ERR_');
      if (isProblem && !isExpected) problems.push(message.text());
    });
    page.on('pageerror', (error) => problems.push(String(error)));
    atEnd(async () => expect(problems).toEqual([]));
    await page.goto(url);
    return {
      page,
      phone: pane(page, 'phone'),
      wire: pane(page, 'wire'),
      inbox: pane(page, 'inbox'),
      breaks: pane(page, 'breaks'),
    };
  }

  return { demo, built, open };
}

/** Selects the tab of a pane on small screens. */
export async function goTo(page: Page, tab: string): Promise<void> {
  const button = page.getByRole('navigation').getByRole('button', { name: tab });
  if (await button.isVisible()) await button.click();
}

export const pane = (page: Page, name: string): Locator => page.locator(`.pane-${name}`);
export const bubble = (side: Locator, text: string): Locator =>
  side.getByRole('article').filter({ hasText: text });
export const reactionOn = (side: Locator, text: string, reaction: string): Locator =>
  bubble(side, text).getByRole('listitem').filter({ hasText: reaction });

export async function type(side: Locator, text: string): Promise<void> {
  const input = side.getByRole('textbox', { name: /^(Text|Reply) as/ });
  await input.fill(text);
  await input.press('Enter');
  await bubble(side, text).waitFor(WITHIN);
}

export async function react(side: Locator, text: string, reaction: string): Promise<void> {
  await bubble(side, text).and(side.locator('[aria-keyshortcuts]')).waitFor(WITHIN);
  await bubble(side, text).focus();
  await side.page().keyboard.press('t');
  await side.getByRole('button', { name: reaction, exact: true }).click();
}

export async function choose(side: Locator, menu: string, choice: string): Promise<void> {
  await side.getByRole('button', { name: menu }).click();
  await side.getByRole('menuitem', { name: choice }).click();
}

/** Waits until an image has loaded. */
export async function hasLoaded(picture: Locator): Promise<void> {
  await picture.waitFor(WITHIN);
  await expect
    .poll(() => picture.evaluate((image: object) => Number(Reflect.get(image, 'naturalWidth'))), WITHIN)
    .toBeGreaterThan(0);
}

export const focused = async (page: Page): Promise<string> =>
  String(await page.evaluate("document.activeElement?.ariaLabel ?? document.activeElement?.innerText ?? ''"));

const MAX_TABS = 60;

export async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  for (let step = 0; step < MAX_TABS; step++) {
    await page.keyboard.press('Tab');
    const now = await focused(page);
    if (typeof name === 'string' ? now.trim() === name : name.test(now)) return;
  }
  throw new Error(`${String(name)} cannot be reached with Tab`);
}

export async function violationsIn(page: Page, part = 'html'): Promise<unknown[]> {
  if ((await page.evaluate("typeof axe === 'undefined'")) === true)
    await page.evaluate(await readFile(AXE, 'utf8'));
  const violations = await page.evaluate(
    `axe.run('${part}', { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.length, ...nodes.slice(0, 3).map(({ html, failureSummary }) => html.slice(0, 160) + ' ' + failureSummary)]))`,
  );
  return Array.isArray(violations) ? violations : [violations];
}
