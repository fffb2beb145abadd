// Checks a browser: `node browser-check-main.ts <program as JSON> <milliseconds>`. In a process of its own, since
// Playwright kills a browser that hangs and removes its files at once only when the process ends.
import { setTimeout as sleep } from 'node:timers/promises';

import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';

import { launchOptions } from './chromium.ts';
import type { Program } from './debian-program.ts';

const CONTEXTS = 3;

const [, , program = '', within = ''] = process.argv;
process.stdout.write(`${await verdict(JSON.parse(program) as Program, Number(within))}\n`);
process.exit();

async function verdict(candidate: Program, ms: number): Promise<string> {
  const tooLate = sleep(ms).then(() => {
    throw new Error(`not done within ${ms} ms`);
  });
  let browser: Browser;
  try {
    const options = { ...(await launchOptions(candidate)), timeout: 0 };
    browser = await Promise.race([chromium.launch(options), tooLate]);
  } catch (error) {
    return `rejected: does not start: ${startFault(error)}`;
  }
  try {
    await Promise.race([usePages(browser), tooLate]);
  } catch (error) {
    return `rejected: starts, but fails: ${messageOf(error)}`;
  }
  return `accepted: ${browser.version()}`;
}

async function usePages(browser: Browser): Promise<void> {
  for (let used = 0; used < CONTEXTS; used++) {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.setContent('<span>text</span>');
    const box = await page.locator('span').boundingBox();
    if (!box?.width) throw new Error('no font on this machine');
    await context.close();
  }
}

/** Playwright appends the log of the browser: its first error, or else its exit code, says more than the message. */
function startFault(error: unknown): string {
  const log = String(error);
  const [, logged] = /\[err\] (.+)/.exec(log) ?? /process did exit: (exitCode=\d+)/.exec(log) ?? [];
  return logged ?? messageOf(error);
}

function messageOf(error: unknown): string {
  const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  return line;
}
