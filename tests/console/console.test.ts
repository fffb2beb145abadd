import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

import { createCleanup } from '@footbridge/testkit/cleanup';
import { findChromium } from '@footbridge/testkit/servers/chromium';
import { until } from '@footbridge/testkit/until';
import { chromium } from 'playwright-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { LOCATION, PHONE, TestBridge } from '../contract/test-bridge.ts';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const WITHIN = { timeout: 60_000 };
const cleanup = createCleanup();

let bridge: TestBridge;
let browser: Browser;
const problems: string[] = [];

beforeAll(async () => {
  await import('@footbridge/console/build-console');
  bridge = await TestBridge.start();
  cleanup.add(() => bridge.stop());
  browser = await chromium.launch(await findChromium());
  cleanup.add(() => browser.close());
  const mac = await bridge.mac();
  mac.send({
    type: 'state',
    capabilities: [],
    messages: { running: true, signedIn: true },
    permissions: { fullDisk: 'denied', automation: 'granted' },
    queue: { pending: 0 },
    lastSentAt: null,
    lastReceivedAt: null,
  });
  await mac.roundTrip();
  await bridge.webhook({ message: 'CANARY-TEXT' });
  await bridge.webhook({ phone: '+15555550188', message: 'Hi' });
  await bridge.webhook({ locationId: '"><img src=x onerror=alert(1)>', message: 'Hi' });
  // The next check opens the issue of the missing permission.
  await until(async () => {
    await bridge.clock.skip(15_000);
    return ((await bridge.operator('GET', '/operator/issues')).body['issues'] as unknown[]).length > 0;
  });
}, 120_000);
afterAll(() => cleanup.run());

interface View {
  readonly width?: number;
  readonly theme?: 'light' | 'dark';
}

/** Opens a page of the console in a new browser. What the browser complains about fails the last test. */
async function open(path = '', { width = 1280, theme = 'light' }: View = {}): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width, height: 800 },
    colorScheme: theme,
    reducedMotion: 'reduce',
  });
  cleanup.add(() => context.close());
  const page = await context.newPage();
  page.on('console', (message) => {
    const isExpected = message.text().includes('401');
    if (message.type() === 'error' && !isExpected) problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(String(error)));
  await page.goto(`${bridge.bridge.operatorUrl}/console${path}`);
  return page;
}

async function signIn(page: Page, token = bridge.bridge.operatorToken): Promise<void> {
  await page.getByLabel('Operator token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

async function violations(page: Page): Promise<unknown[]> {
  await page.evaluate(await readFile(AXE, 'utf8'));
  const found = await page.evaluate(
    'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]))',
  );
  return found as unknown[];
}

describe('the console', () => {
  it('S6 names the broken link of a tenant and what to do', async () => {
    const page = await open();
    await signIn(page);
    const tenant = page.getByRole('listitem').filter({ hasText: LOCATION }).first();
    await tenant.getByText('does not have the Full Disk Access permission').first().waitFor(WITHIN);
    await tenant.getByText('Privacy & Security > Full Disk Access').waitFor(WITHIN);
  });

  it('S6 finds the messages of a phone number, and shows what became of one', async () => {
    const page = await open('/messages');
    await signIn(page);
    await page.getByRole('searchbox').fill('+1 (555) 555-0188');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText('+1•••0188').waitFor(WITHIN);
    await expect.poll(() => page.getByRole('row').count(), WITHIN).toBe(2);
    await page.getByRole('row').nth(1).getByRole('link').click();
    await page.getByRole('heading', { name: 'Not known yet' }).waitFor(WITHIN);
    await page.getByText("written to the Mac's socket").waitFor(WITHIN);
  });

  it('S6 shows what is wrong and what to do, with the count in the navigation', async () => {
    const page = await open();
    await signIn(page);
    await page.getByRole('link', { name: 'Issues 1' }).click();
    const card = page.getByRole('listitem').filter({ hasText: 'Permission missing' });
    await card
      .getByRole('heading', { name: 'does not have the Full Disk Access permission' })
      .waitFor(WITHIN);
    await card.getByText('Privacy & Security > Full Disk Access').waitFor(WITHIN);
    await card.getByText(/Since .*\d\d:\d\d:\d\d/).waitFor(WITHIN);
    await card.getByRole('link', { name: LOCATION }).click();
    await page.getByRole('heading', { name: 'Messages' }).waitFor(WITHIN);
    await expect.poll(() => page.url(), WITHIN).toContain(`locationId=${LOCATION}`);
  });

  it('S6 shows the last day in four numbers, each also as a table, and failures by code', async () => {
    const page = await open('/overview');
    await signIn(page);
    for (const name of ['Macs connected', 'Messages to customers', 'Messages from customers', 'Issues'])
      await page.getByRole('heading', { name, exact: true }).waitFor(WITHIN);
    await page.getByText('1 / 1').waitFor(WITHIN);
    await page.getByRole('button', { name: 'Show as table: Messages to customers' }).click();
    const table = page.getByRole('region', { name: 'Messages to customers' });
    await expect.poll(() => table.getByRole('row').count(), WITHIN).toBe(49);
    await page.getByRole('link', { name: 'LOCATION_NOT_CONNECTED' }).click();
    await expect.poll(() => page.url(), WITHIN).toContain('code=LOCATION_NOT_CONNECTED');
    await page.getByText('onerror=alert(1)').first().waitFor(WITHIN);
  });

  it('S6 shows new messages as they arrive', async () => {
    const page = await open('/messages?phone=%2B15555550177');
    await signIn(page);
    await page.getByText('No message matches these filters.').waitFor(WITHIN);
    await bridge.webhook({ phone: '+15555550177', message: 'Hi' });
    await page.getByText('+1•••0177').waitFor(WITHIN);
  });

  it('S6 shows no text of a message and runs no text from outside as code', async () => {
    const page = await open('/messages');
    await signIn(page);
    await page.getByText('onerror=alert(1)').first().waitFor(WITHIN);
    expect(await page.content()).not.toContain('CANARY-TEXT');
    expect(await page.content()).not.toContain(PHONE);
  });

  it('S6 rejects a wrong token in words, and says why a session ended', async () => {
    const page = await open();
    await signIn(page, 'wrong');
    await page.getByRole('alert').waitFor(WITHIN);
    const { body } = await bridge.operator('POST', '/operator/tokens', { label: 'Agency', readOnly: true });
    await signIn(page, String(body['token']));
    await page.getByRole('heading', { name: 'Tenants' }).waitFor(WITHIN);
    await bridge.operator('DELETE', `/operator/tokens/${String(body['id'])}`);
    await page.getByRole('link', { name: 'Messages' }).first().click();
    await page.getByText('You were signed out').waitFor(WITHIN);
  });

  it('S6 can be used with the keyboard alone', async () => {
    const page = await open();
    await page.getByLabel('Operator token').waitFor(WITHIN);
    const tabTo = async (name: string) => {
      for (let step = 0; step < 40; step++) {
        await page.keyboard.press('Tab');
        const now = await page.evaluate(
          "document.activeElement?.id || document.activeElement?.innerText || ''",
        );
        if (String(now).trim() === name) return;
      }
      throw new Error(`${name} cannot be reached with the Tab key`);
    };
    await tabTo('token');
    await page.keyboard.type(bridge.bridge.operatorToken);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Tenants' }).waitFor(WITHIN);
    await tabTo('Messages');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Messages' }).waitFor(WITHIN);
  });

  describe('S6 has no accessibility violations', () => {
    const views = [360, 768, 1440].flatMap((width) =>
      (['light', 'dark'] as const).map((theme) => ({ width, theme })),
    );
    it.each(views)('at $width px, $theme', async (view) => {
      const page = await open('', view);
      await page.getByLabel('Operator token').waitFor(WITHIN);
      await expect.poll(() => violations(page), WITHIN).toEqual([]);
      await signIn(page);
      await page.getByRole('heading', { name: LOCATION }).waitFor(WITHIN);
      await expect.poll(() => violations(page), WITHIN).toEqual([]);
      await page.goto(`${bridge.bridge.operatorUrl}/console/messages`);
      await page.getByRole('table').waitFor(WITHIN);
      await expect.poll(() => violations(page), WITHIN).toEqual([]);
      await page
        .getByRole('link', { name: /:\d\d:\d\d/ })
        .first()
        .click();
      await page.getByRole('article').waitFor(WITHIN);
      await expect.poll(() => violations(page), WITHIN).toEqual([]);
      await page.goto(`${bridge.bridge.operatorUrl}/console/issues`);
      await page.getByRole('heading', { name: 'Full Disk Access' }).waitFor(WITHIN);
      await expect.poll(() => violations(page), WITHIN).toEqual([]);
      await page.goto(`${bridge.bridge.operatorUrl}/console/overview`);
      await page.getByRole('button', { name: 'Show as table: Messages to customers' }).click();
      await page.getByRole('region', { name: 'Messages to customers' }).waitFor(WITHIN);
      await expect.poll(() => violations(page), WITHIN).toEqual([]);
      const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
      expect(overflow).toBe(0);
    });
  });

  it('S6 violates no content security policy and logs no error', () => {
    expect(problems).toEqual([]);
  });
});
