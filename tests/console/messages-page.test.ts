import { createCleanup } from '@footbridge/testkit/cleanup';
import { hasChromium } from '@footbridge/testkit/servers/chromium';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { LOCATION, PHONE, TestBridge } from '../contract/test-bridge.ts';
import { columnLabels, startConsoleBrowser, VIEWS, violations, WITHIN } from './console-browser.ts';
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

  const focused = (page: Page) =>
    page.evaluate("document.activeElement?.closest('tr')?.getAttribute('aria-rowindex')");

  describe('by keys', () => {
    it('S6 j and k move between the rows, and Enter opens one', async () => {
      const page = await openMessages();
      const rows: unknown[] = [];
      for (const key of ['k', 'j', 'j', 'k']) {
        await page.keyboard.press(key);
        rows.push(await focused(page));
      }
      expect(rows).toEqual(['2', '3', '4', '3']);
      await page.keyboard.press('Enter');
      await page.getByRole('article').waitFor(WITHIN);
    });

    it('S6 a slash moves to the search field, where letters are text', async () => {
      const page = await openMessages();
      await page.keyboard.press('/');
      await page.keyboard.type('/jkfp?');
      expect(await page.getByRole('searchbox').inputValue()).toBe('/jkfp?');
      expect(await page.getByRole('dialog').count()).toBe(0);
      expect(await page.getByRole('button', { name: 'Pause' }).getAttribute('aria-pressed')).toBe('false');
    });

    it('S6 f moves to the filters', async () => {
      const page = await openMessages();
      await page.keyboard.press('f');
      const label = await page.evaluate('document.activeElement?.labels?.[0]?.firstChild?.textContent');
      expect(label).toBe('Direction');
    });

    it('S6 p holds new messages back, and shows them when pressed again', async () => {
      const page = await openMessages();
      await page.keyboard.press('p');
      await page.getByText('Paused', { exact: true }).waitFor(WITHIN);
      await bridge.webhook({ phone: '+15555550171' });
      await page.getByRole('button', { name: '1 new message' }).waitFor(WITHIN);
      expect(await page.getByText('+1•••0171').count()).toBe(0);
      await page.keyboard.press('p');
      await page.getByText('+1•••0171').waitFor(WITHIN);
      await page.getByText('Live', { exact: true }).waitFor(WITHIN);
    });

    it('S6 a click on the held messages ends the pause', async () => {
      const page = await openMessages();
      await page.getByRole('button', { name: 'Pause' }).click();
      await bridge.webhook({ phone: '+15555550172' });
      await page.getByRole('button', { name: '1 new message' }).click();
      await page.getByText('+1•••0172').waitFor(WITHIN);
      await page.getByText('Live', { exact: true }).waitFor(WITHIN);
    });

    it('S6 keys with Ctrl, Alt or Meta are left to the browser', async () => {
      const page = await openMessages();
      for (const modifier of ['Control', 'Alt', 'Meta']) await page.keyboard.press(`${modifier}+j`);
      expect(await focused(page)).toBeUndefined();
    });

    it.each(VIEWS)('S6 a question mark lists the keys, at $width px, $theme', async (view) => {
      const page = await browser.open('', view);
      await page.getByRole('heading', { name: LOCATION }).waitFor(WITHIN);
      await page.keyboard.press('?');
      const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
      await dialog.waitFor(WITHIN);
      const keys = await dialog.locator('kbd').allInnerTexts();
      expect(keys).toEqual(['j', 'k', 'Enter', '/', 'f', 'p', '?']);
      await expect.poll(() => violations(page), WITHIN).toEqual([]);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ ...WITHIN, state: 'hidden' });
    });

    it('S6 the keys can be turned off, and stay off on later visits', async () => {
      const page = await openMessages();
      await page.getByRole('button', { name: 'Keyboard shortcuts' }).click();
      await page.getByLabel('Use these keys').click();
      await page.getByRole('button', { name: 'Close' }).click();
      await page.reload();
      await page.locator('[aria-rowindex="4"]').waitFor(WITHIN);
      await page.keyboard.press('j');
      expect(await focused(page)).toBeUndefined();
    });
  });

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
