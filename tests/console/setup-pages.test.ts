import { createCleanup } from '@footbridge/testkit/cleanup';
import { signBody } from '@footbridge/testkit/keys';
import { connectMac } from '@footbridge/testkit/mac';
import { hasChromium } from '@footbridge/testkit/servers/chromium';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { LOCATION, PHONE, TestBridge } from '../contract/test-bridge.ts';
import { columnLabels, startConsoleBrowser, VIEWS, violations, WITHIN } from './console-browser.ts';
import type { ConsoleBrowser } from './console-browser.ts';

const cleanup = createCleanup();
const PAGES = [
  ['/macs', 'Macs'],
  ['/macs/pair', 'Pair a Mac'],
  ['/highlevel', 'Connect HighLevel'],
  ['/keys', 'Keys'],
  ['/audit', 'Audit log'],
] as const;

describe.skipIf(!(await hasChromium()))('the setup pages of the console', { timeout: 120_000 }, () => {
  let bridge: TestBridge;
  let browser: ConsoleBrowser;

  beforeAll(async () => {
    bridge = await TestBridge.start();
    cleanup.add(() => bridge.stop());
    browser = await startConsoleBrowser(bridge, cleanup);
    await bridge.mac();
    await bridge.post({ locationId: LOCATION }, { unsigned: true });
  }, 120_000);
  afterAll(() => cleanup.run());

  /** Pairs as the agent does, and connects. */
  async function pair(code: string, locationId: string): Promise<void> {
    const response = await fetch(`${bridge.url}/mac/pair`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({
        code: code.split('@')[0],
        deviceId: `mac-of-${locationId}`,
        name: 'Front desk',
        osVersion: '26.1',
        appVersion: '0.1.0',
      }),
    });
    const { deviceToken } = (await response.json()) as { deviceToken: string };
    const mac = await connectMac(bridge.url, { token: deviceToken });
    cleanup.add(() => mac.terminate());
    await mac.register(locationId);
  }

  const codeOn = (page: Page) => page.locator('code').filter({ hasText: /^[A-Z0-9]{4}-[A-Z0-9]{4}@/ });

  it('M12 creates a license, pairs a Mac with a code and shows that it is connected', async () => {
    const page = await browser.open('/macs');
    await page.getByLabel('Name').fill('Dental agency');
    await page.getByRole('spinbutton', { name: 'Seats', exact: true }).fill('2');
    await page.getByRole('button', { name: 'Create license' }).click();
    await page.getByText('The license key is shown only once').waitFor(WITHIN);
    const card = page.locator('section').filter({ hasText: 'Dental agency' });
    await card.getByText('0 of 2 seats in use').waitFor(WITHIN);
    await page.getByRole('link', { name: 'Pair a Mac' }).click();
    await page.getByLabel('Location id').fill('loc-new');
    await page.getByLabel('License').selectOption('Dental agency');
    await page.getByRole('button', { name: 'Create pairing code' }).click();
    await page.getByRole('img', { name: 'The pairing code as a QR code' }).waitFor(WITHIN);
    await page.getByText(/Expires in 1[45]:\d\d/).waitFor(WITHIN);
    await page.getByText('Waiting for the Mac.').waitFor(WITHIN);
    await pair((await codeOn(page).textContent()) ?? '', 'loc-new');
    await page.getByText('The Mac “Front desk” is connected.').waitFor(WITHIN);
    await page.getByRole('link', { name: 'Macs', exact: true }).click();
    await card.getByText('1 of 2 seats in use').waitFor(WITHIN);
    await card.getByRole('button', { name: 'Revoke' }).click();
    await card.getByText('it cannot activate again').waitFor(WITHIN);
    await card.getByRole('button', { name: 'Revoke' }).click();
    await card.getByText('0 of 2 seats in use').waitFor(WITHIN);
  });

  it('M8 asks whose location it is when a Mac claimed it and there are several licenses', async () => {
    await bridge.operator('POST', '/operator/licenses', { label: 'Second', maxSeats: 1 });
    const tenants = await browser.open('/');
    const claimed = tenants.getByText('claimed, not assigned');
    await claimed.first().waitFor(WITHIN);
    const page = await browser.open(`/macs/pair?locationId=${LOCATION}`);
    await page.getByText('A Mac claimed this location by itself').waitFor(WITHIN);
    await page.getByLabel('License').selectOption('Test');
    await page.getByRole('button', { name: 'Create pairing code' }).click();
    await page.getByText('The Mac takes a seat of “Test”.').waitFor(WITHIN);
    await expect.poll(() => claimed.count(), WITHIN).toBe(0);
  });

  it('M12 says when a pairing code has expired', async () => {
    const page = await browser.open(`/macs/pair?locationId=${LOCATION}`);
    await page.route('**/pairing-codes', async (route) => {
      const response = await route.fetch();
      const created = (await response.json()) as object;
      const expiresAt = new Date(Date.now() + 2000).toISOString();
      await route.fulfill({ response, json: { ...created, expiresAt } });
    });
    await page.getByRole('button', { name: 'Create pairing code' }).click();
    await page.getByText('This code has expired.').waitFor(WITHIN);
    expect(await codeOn(page).count()).toBe(0);
    await page.unroute('**/pairing-codes');
    await page.getByRole('button', { name: 'Create a new code' }).click();
    await codeOn(page).waitFor(WITHIN);
  });

  it('O1 shows what to paste into HighLevel, waits for the installation and confirms it', async () => {
    const page = await browser.open('/highlevel');
    for (const path of ['/crm/webhook', '/oauth/callback/crm', '/crm/events'])
      await page.getByText(`${bridge.url}${path}`, { exact: true }).waitFor(WITHIN);
    await page.getByText('conversations/message.write').first().waitFor(WITHIN);
    await page.getByText('Waiting for an installation').waitFor(WITHIN);
    await page.getByRole('rowheader', { name: LOCATION }).waitFor(WITHIN);
    await bridge.authorise('loc-installed');
    await page.getByText('Installed for loc-installed.').waitFor(WITHIN);
  });

  it('S6 adds, disables and removes a key, and shows recent rejections', async () => {
    const page = await browser.open('/keys');
    await page.getByRole('button', { name: "Trust HighLevel's published key" }).click();
    const row = page.getByRole('row').filter({ hasText: 'X-GHL-Signature' });
    await row.getByRole('button', { name: 'Disable' }).click();
    await row.getByText('Webhooks signed with this key will get 401.').waitFor(WITHIN);
    await row.getByRole('button', { name: 'Disable' }).click();
    await row.getByText('disabled', { exact: true }).waitFor(WITHIN);
    await row.getByRole('button', { name: 'Remove' }).click();
    await row.getByRole('button', { name: 'Remove' }).click();
    await row.waitFor({ state: 'detached', ...WITHIN });
    await page.getByText('The request had no signature').waitFor(WITHIN);
  });

  it('S6 names the failing step of a pasted sample', async () => {
    const page = await browser.open('/keys');
    const body = '{"locationId":"loc1"}';
    const test = async (text: string, signature: string) => {
      await page.getByLabel('Body', { exact: true }).fill(text);
      await page.getByLabel('Signature header').fill(signature);
      await page.getByRole('button', { name: 'Test' }).click();
    };
    const signature = signBody(body, bridge.crm.key);
    await test(body, signature);
    await page.getByText('The signature is valid.').waitFor(WITHIN);
    await test(body.replace(':', ': '), signature);
    await page.getByText('Rejected at the step “body changed”').waitFor(WITHIN);
    await test(body, 'N/A');
    await page.getByText('Rejected at the step “no signature”').waitFor(WITHIN);
  });

  it('T18 shows the texts of a location while its capture is on, and no text before and after', async () => {
    const { answer } = await bridge.webhook({ message: 'CANARY-BEFORE' });
    const { requestId } = answer as { requestId: string };
    const page = await browser.open(`/messages/${requestId}`);
    await page.getByRole('button', { name: 'Show texts for 15 minutes' }).click();
    await page.getByText('The texts of this location are shown until').waitFor(WITHIN);
    await page.getByText('This message arrived before texts were shown').waitFor(WITHIN);
    const captured = await bridge.webhook({ message: 'Captured text' });
    const id = (captured.answer as { requestId: string }).requestId;
    await bridge.journalled(id, 'accepted');
    await page.goto(`${bridge.bridge.operatorUrl}/console/messages/${id}`);
    await page.getByText('Captured text').waitFor(WITHIN);
    await page.getByRole('button', { name: 'Hide texts now' }).click();
    await page.getByRole('button', { name: 'Show texts for 15 minutes' }).waitFor(WITHIN);
    expect(await page.getByText('Captured text').count()).toBe(0);
  });

  it('S6 shows how far the limits of a line are used', async () => {
    const mac = await bridge.mac('loc-limited');
    const page = await browser.open('/macs');
    mac.send({
      type: 'state',
      capabilities: [],
      pacing: { minGapMs: 0, maxGapMs: 0, newPerHour: 20, newLastHour: 3, newPerDay: 50, held: 1 },
      lastSentAt: null,
      lastReceivedAt: null,
    });
    await mac.roundTrip();
    const cell = page.getByRole('cell', { name: 'loc-limited' });
    await cell.getByText('3 of 20 new conversations in the last hour.').waitFor(WITHIN);
    await cell.getByText('0 of 50 new conversations in the last day. 1 message waits').waitFor(WITHIN);
  });

  it('S6 shows who changed what', async () => {
    const page = await browser.open('/audit');
    await page.getByRole('row').filter({ hasText: 'signed in' }).first().waitFor(WITHIN);
    await page.getByRole('cell', { name: 'created a license' }).first().waitFor(WITHIN);
  });

  it('S6 does not wrap names in the audit log, even next to long details', async () => {
    const label = 'support team of the agency that has the night shift and the weekends';
    await bridge.operator('POST', '/operator/tokens', { label });
    const page = await browser.open('/audit');
    await page.getByRole('row').filter({ hasText: label }).waitFor(WITHIN);
    const lines = await page.evaluate(
      "[...document.querySelectorAll('[data-label=Who] bdi')].map((name) => name.getClientRects().length)",
    );
    expect(new Set(lines as number[])).toEqual(new Set([1]));
  });

  it('T18 shows no text and no phone number on any page while no location is captured', async () => {
    await bridge.webhook({ message: 'CANARY-HIDDEN' });
    const page = await browser.open('');
    for (const path of ['', '/messages', ...PAGES.map(([one]) => one)]) {
      await page.goto(`${bridge.bridge.operatorUrl}/console${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor(WITHIN);
      await page.waitForLoadState('domcontentloaded');
      const content = await page.content();
      for (const hidden of ['CANARY', PHONE, bridge.bridge.operatorToken, bridge.crm.settings.clientSecret])
        expect(content, path).not.toContain(hidden);
    }
  });

  it('S6 pairs a Mac with the keyboard alone', async () => {
    const page = await browser.open('');
    const tabTo = async (name: string) => {
      for (let step = 0; step < 60; step++) {
        await page.keyboard.press('Tab');
        const now = await page.evaluate(
          "document.activeElement?.name || document.activeElement?.innerText || ''",
        );
        if (String(now).trim() === name) return;
      }
      throw new Error(`${name} cannot be reached with the Tab key`);
    };
    await page.getByRole('heading', { name: 'Tenants' }).waitFor(WITHIN);
    await tabTo('Macs');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Pair a Mac' }).waitFor(WITHIN);
    await tabTo('Pair a Mac');
    await page.keyboard.press('Enter');
    await page.getByLabel('Location id').waitFor(WITHIN);
    await tabTo('locationId');
    await page.keyboard.type(LOCATION);
    await page.keyboard.press('Enter');
    await codeOn(page).waitFor(WITHIN);
    await tabTo('Keys');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Keys' }).waitFor(WITHIN);
  });

  it.each([
    ['/macs', ['Mac', 'System', 'Connected for', 'Last seen', 'State']],
    ['/keys', ['Name', 'Header', 'Scheme', 'Fingerprint', 'Locations', 'State']],
    ['/audit', ['Time', 'Who', 'What', 'Object', 'Details']],
  ])('S6 names the values in the rows of %s on a small screen, and only there', async (path, names) => {
    for (const [width, labels] of [
      [360, names],
      [1440, []],
    ] as const) {
      const page = await browser.open(path, { width });
      await page.locator('tbody tr').first().waitFor(WITHIN);
      // The page has several lists, which load at the same time.
      await expect.poll(() => columnLabels(page), WITHIN).toEqual(labels);
    }
  });

  it.each(VIEWS)('S6 has no accessibility violations at $width px, $theme', async (view) => {
    const page = await browser.open('/macs', view);
    for (const [path, title] of PAGES) {
      await page.goto(`${bridge.bridge.operatorUrl}/console${path}`);
      await page.getByRole('heading', { level: 1, name: title }).waitFor(WITHIN);
      if (path === '/macs/pair') {
        await page.getByLabel('Location id').fill(LOCATION);
        await page.getByRole('button', { name: 'Create pairing code' }).click();
        await codeOn(page).waitFor(WITHIN);
      } else await page.locator('tbody tr').first().waitFor(WITHIN);
      const folder = process.env['SCREENSHOTS'];
      if (folder)
        await page.screenshot({
          path: `${folder}/${path.replaceAll('/', '_')}-${view.width}-${view.theme}.png`,
          fullPage: true,
        });
      await expect.poll(() => violations(page), { ...WITHIN, message: path }).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), path).toBe(0);
    }
  });

  it('S6 violates no content security policy and logs no error', () => {
    expect(browser.problems).toEqual([]);
  });
});
