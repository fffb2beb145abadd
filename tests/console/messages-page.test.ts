import { createCleanup } from '@footbridge/testkit/cleanup';
import { hasChromium } from '@footbridge/testkit/servers/chromium';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { PHONE, TestBridge } from '../contract/test-bridge.ts';
import { columnLabels, startConsoleBrowser, WITHIN } from './console-browser.ts';
import type { ConsoleBrowser } from './console-browser.ts';

const cleanup = createCleanup();

describe.skipIf(!(await hasChromium()))('the messages in the console', { timeout: 120_000 }, () => {
  let bridge: TestBridge;
  let browser: ConsoleBrowser;

  beforeAll(async () => {
    bridge = await TestBridge.start();
    cleanup.add(() => bridge.stop());
    browser = await startConsoleBrowser(bridge, cleanup);
    await bridge.mac();
    for (const messageId of ['m-one', 'm-two', 'm-three']) await bridge.webhook({ messageId });
  }, 120_000);
  afterAll(() => cleanup.run());

  async function openMessages(): Promise<Page> {
    const page = await browser.open('/messages');
    await page.locator('[aria-rowindex="4"]').waitFor(WITHIN);
    return page;
  }

  it('S6 names every value of a row on a small screen, and only there', async () => {
    const names = ['Time', 'Direction', 'Location', 'Customer', 'Kind', 'Status'];
    const small = await browser.open('/messages', { width: 360 });
    await small.locator('[aria-rowindex="2"]').waitFor(WITHIN);
    expect(await columnLabels(small)).toEqual(names);
    const hidden = await small.evaluate(`(() => {
      const row = document.querySelector('[aria-rowindex="2"]');
      const { bottom } = row.getBoundingClientRect();
      return [...row.cells].filter((cell) => cell.getBoundingClientRect().bottom > bottom).length;
    })()`);
    expect(hidden).toBe(0);
    expect(await columnLabels(await openMessages())).toEqual([]);
  });

  it('S6 copies the webhook of a message as curl, without its text and number', async () => {
    const page = await browser.open('/messages/m-one');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy as curl' }).click();
    await page.getByText('Copied: the webhook of this message').waitFor(WITHIN);
    const copied = String(await page.evaluate('navigator.clipboard.readText()'));
    expect(copied).toContain('/crm/webhook');
    expect(copied).toContain('"messageId":"m-one"');
    expect(copied).not.toContain(PHONE);
  });

  it('S6 violates no content security policy and logs no error', () => {
    expect(browser.problems).toEqual([]);
  });
});
