import { createCleanup } from '@footbridge/testkit/cleanup';
import { hasChromium } from '@footbridge/testkit/servers/chromium';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { PHONE, TestBridge } from '../contract/test-bridge.ts';
import { startConsoleBrowser, WITHIN } from './console-browser.ts';
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
