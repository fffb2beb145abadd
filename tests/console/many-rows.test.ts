import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { DIST } from '@footbridge/console/console-files';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { findChromium } from '@footbridge/testkit/servers/chromium';
import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { LOCATION, TestBridge } from '../contract/test-bridge.ts';

const MAX_GZIPPED = 90 * 1024;
const WITHIN = { timeout: 60_000 };
/** A slow machine needs this long for 200 pages. */
const ALL_WITHIN = { timeout: 240_000 };
const ROWS = 10_000;
const TENANTS = 200;
const cleanup = createCleanup();

let bridge: TestBridge;
let browser: Browser;

beforeAll(async () => {
  await import('@footbridge/console/build-console');
  bridge = await TestBridge.start();
  cleanup.add(() => bridge.stop());
  browser = await chromium.launch(await findChromium());
  cleanup.add(() => browser.close());
  const now = bridge.clock.now();
  bridge.rows(`with recursive n (i) as (select 0 union all select i + 1 from n where i < ${ROWS - 1})
    insert into messages (id, direction, location_id, message_id, kind, status, length, created_at, updated_at, steps)
    select printf('m%05d', i), 'outbound', '${LOCATION}', printf('m%05d', i), 'text', 'delivered', 1, ${now} - 1000 * i, ${now}, '[]' from n`);
  bridge.rows(`with recursive n (i) as (select 0 union all select i + 1 from n where i < ${TENANTS - 1})
    insert into locations (location_id, state, created_at, updated_at)
    select printf('tenant-%04d', i), 'unassigned', ${now}, ${now} from n`);
}, 120_000);
afterAll(() => cleanup.run());

async function open(path: string) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  cleanup.add(() => page.close());
  await page.goto(`${bridge.bridge.operatorUrl}/console${path}`);
  await page.getByLabel('Operator token').fill(bridge.bridge.operatorToken);
  await page.getByRole('button', { name: 'Sign in' }).click();
  return page;
}

describe('the console with many rows', () => {
  it('S6 loads all messages while the user scrolls, and draws those on the screen', async () => {
    const page = await open('/messages');
    await page.getByRole('table').waitFor(WITHIN);
    await expect
      .poll(async () => {
        await page.evaluate('window.scrollTo(0, document.documentElement.scrollHeight)');
        return page.getByRole('table').getAttribute('aria-rowcount');
      }, ALL_WITHIN)
      .toBe(String(ROWS + 1));
    await expect
      .poll(async () => {
        await page.evaluate('window.scrollTo(0, document.documentElement.scrollHeight)');
        return page.locator(`[aria-rowindex="${ROWS + 1}"]`).count();
      }, WITHIN)
      .toBe(1);
    expect(await page.getByRole('row').count()).toBeLessThan(100);
  });

  /** The row in the middle of the window, or the one with the focus. */
  const ROW_AT = `(() => {
    const focused = document.activeElement?.closest('tr');
    const row = focused ?? document.elementFromPoint(innerWidth / 2, innerHeight / 2).closest('tr');
    return { text: row.innerText, index: row.getAttribute('aria-rowindex'), top: row.getBoundingClientRect().top };
  })()`;

  it('S6 keeps the position of a reader while messages arrive, and shows them on request', async () => {
    const page = await open('/messages');
    await page.getByRole('table').waitFor(WITHIN);
    await page.evaluate('window.scrollTo(0, 600)');
    await page.locator('[aria-rowindex="40"]').waitFor(WITHIN);
    const before = await page.evaluate(ROW_AT);
    await bridge.webhook({ phone: '+15555550161' });
    await page.getByRole('button', { name: '1 new message', exact: true }).waitFor(WITHIN);
    await bridge.webhook({ phone: '+15555550162' });
    const offer = page.getByRole('button', { name: '2 new messages' });
    await offer.waitFor(WITHIN);
    expect(await page.evaluate(ROW_AT)).toEqual(before);
    await offer.click();
    await page.getByText('+1•••0162').waitFor(WITHIN);
    expect(await page.evaluate('window.scrollY')).toBe(0);
    expect(await offer.count()).toBe(0);
  });

  it('S6 keeps the focus on a row while more messages arrive than a page has', async () => {
    const page = await open('/messages');
    await page.getByRole('table').waitFor(WITHIN);
    await page.locator('[aria-rowindex="4"] a').focus();
    const before = await page.evaluate(ROW_AT);
    for (let count = 0; count < 60; count++) await bridge.webhook({ phone: '+15555550163' });
    await page.getByRole('button', { name: '50 or more new messages' }).waitFor(WITHIN);
    expect(await page.evaluate(ROW_AT)).toEqual(before);
    await page.keyboard.press('Enter');
    await page.getByRole('article').waitFor(WITHIN);
  });

  it('S6 shows more tenants while the user scrolls, and finds one by its name', async () => {
    const page = await open('');
    await page.getByText('tenants need attention').waitFor(WITHIN);
    const cards = page.locator('.tenant');
    expect(await cards.count()).toBeLessThan(TENANTS);
    await expect
      .poll(async () => {
        await page.evaluate('window.scrollTo(0, document.documentElement.scrollHeight)');
        return cards.count();
      }, WITHIN)
      .toBeGreaterThan(TENANTS);
    await page.getByRole('searchbox').fill('tenant-0123');
    await expect.poll(() => cards.count(), WITHIN).toBe(1);
  });

  it('T65 shows the Macs page by page', async () => {
    const { id } = await bridge.createLicense();
    const now = bridge.clock.now();
    bridge.rows(`with recursive n (i) as (select 0 union all select i + 1 from n where i < 1000)
      insert into devices (id, license_id, device_id, name, os_version, app_version, token_hash, status, activated_at, last_seen_at, updated_at)
      select printf('dev_%04d', i), '${id}', printf('mac-%04d', i), printf('Mac number %04d', i), '26', '1', printf('hash %04d', i), 'deactivated', ${now} + i, ${now}, ${now} from n`);
    const page = await open('/macs');
    await page.getByText('Mac number 0999', { exact: true }).waitFor(WITHIN);
    expect(await page.getByText('Mac number 1000', { exact: true }).count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Next page of licenses' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Next page of Macs' }).click();
    await page.getByText('Mac number 1000', { exact: true }).waitFor(WITHIN);
    expect(await page.getByText('Mac number 0999', { exact: true }).count()).toBe(0);
    await page.getByRole('button', { name: 'First page of Macs' }).click();
    await page.getByText('Mac number 0000', { exact: true }).waitFor(WITHIN);
  });

  it('T65 pairs a location that is not on the first page of the list', async () => {
    const { id } = await bridge.createLicense();
    await bridge.createLicense();
    const now = bridge.clock.now();
    bridge.rows(`with recursive n (i) as (select 0 union all select i + 1 from n where i < 1000)
      insert into locations (location_id, state, license_id, confirmed, created_at, updated_at)
      select printf('z-later-%04d', i), 'bound', '${id}', 1, ${now}, ${now} from n`);
    const page = await open('/macs/pair');
    const license = page.getByLabel('License');
    await page.getByLabel('Location id').fill('z-later-none');
    await license.waitFor(WITHIN);
    // This one has a license.
    await page.getByLabel('Location id').fill('z-later-1000');
    await license.waitFor({ ...WITHIN, state: 'detached' });
    await page.getByRole('button', { name: 'Create pairing code' }).click();
    await page.getByRole('heading', { name: 'On the Mac' }).waitFor(WITHIN);
  });

  it('S6 has at most 90 KB of code, gzipped', async () => {
    const sizes = (await readdir(DIST)).map(
      async (name) => gzipSync(await readFile(join(DIST, name))).length,
    );
    const total = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    expect(total).toBeLessThanOrEqual(MAX_GZIPPED);
  });
});
