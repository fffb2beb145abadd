import { createCleanup } from '@footbridge/testkit/cleanup';
import { hasChromium } from '@footbridge/testkit/servers/chromium';
import { until } from '@footbridge/testkit/until';
import type { Locator } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { CRM_HONOURS_IDEMPOTENCY_KEY } from './demo.ts';
import { bubble, startTestPage, WITHIN } from './test-page.ts';
import type { OpenOptions, TestPage } from './test-page.ts';

const suiteCleanup = createCleanup();
const cleanup = createCleanup();
let test: TestPage;

const open = (options: OpenOptions = {}) => test.open(options, (task) => cleanup.add(task));

describe.skipIf(!(await hasChromium()))('the scenarios on the page', { timeout: 240_000 }, () => {
  beforeAll(async () => {
    test = await startTestPage(suiteCleanup);
  }, 300_000);
  afterAll(() => suiteCleanup.run());
  afterEach(() => cleanup.run());

  it('shows a run and its result in every open page', async () => {
    const [first, second] = [await open(), await open()];
    await first.breaks.getByRole('button', { name: 'CRM slow on pending' }).click();
    await first.breaks.getByRole('button', { name: 'Break it' }).click();
    await second.breaks.getByRole('button', { name: 'Running…' }).waitFor(WITHIN);
    expect(await second.breaks.getByRole('button', { name: /^Run all/ }).isDisabled()).toBe(true);
    for (const { breaks } of [first, second]) {
      await breaks.getByRole('button', { name: 'passed: CRM slow on pending' }).waitFor(WITHIN);
      expect(await breaks.locator('.is-broken').count()).toBe(0);
    }
  });

  it('switches whether the CRM honours the Idempotency-Key, in every open page', async () => {
    const [first, second] = [await open(), await open()];
    const toggle = (page: typeof first) =>
      page.breaks.getByRole('switch', { name: 'CRM honours Idempotency-Key', checked: honours });
    const isHonoured = async () => (await test.demo.crm.state()).settings.honourIdempotencyKey;

    let honours = CRM_HONOURS_IDEMPOTENCY_KEY;
    await toggle(second).waitFor(WITHIN);
    expect(await isHonoured()).toBe(honours);
    for (const _press of ['other', 'back']) {
      await toggle(first).press('Space');
      honours = !honours;
      await toggle(first).waitFor(WITHIN);
      await toggle(second).waitFor(WITHIN);
      await until(async () => (await isHonoured()) === honours, { what: 'the switched CRM' });
    }
  });

  it('shows every text on the phone that the CRM shows as delivered, whichever Mac sent it', async () => {
    const { phone, inbox, breaks } = await open();
    for (const title of ['Second Mac takes over', 'Queue full']) await run(breaks, title);
    for (const text of ['Which Mac is sending this?', 'First in the queue', 'Second in the queue']) {
      await bubble(inbox, text).getByText('Delivered').waitFor(WITHIN);
      await bubble(phone, text).getByText('Sent by the second Mac').waitFor(WITHIN);
    }
    const delivered = inbox.getByRole('article').filter({ hasText: 'Delivered' }).locator('.bubble-text');
    const shown = phone.getByRole('article').locator('.bubble-text');
    expect(await shown.allInnerTexts()).toEqual(expect.arrayContaining(await delivered.allInnerTexts()));
    expect(await bubble(phone, 'Third in the queue').count()).toBe(0);
  });

  it('delivers 60 of 61 requests in a minute, without any red row but the last one', async () => {
    const { wire, breaks } = await open();
    await wire.getByText('Request with an invalid signature').waitFor(WITHIN);
    const red = wire.locator('.tone-bad');
    const before = await red.filter({ hasNotText: '429' }).count();
    await run(breaks, '61 requests in a minute');
    await breaks.getByText('60 were delivered, 1 got 429 with Retry-After').waitFor(WITHIN);
    await wire.getByText('Harbor Bikes exceeds the rate limit').waitFor(WITHIN);
    const folded = wire.getByRole('button', { name: /more like this$/ });
    while ((await folded.count()) > 0) await folded.first().click();
    expect(await red.filter({ hasText: '429' }).count()).toBe(1);
    expect(await red.filter({ hasNotText: '429' }).count()).toBe(before);
  });
});

async function run(breaks: Locator, title: string): Promise<void> {
  await breaks.getByRole('button', { name: title }).click();
  await breaks.getByRole('button', { name: 'Break it' }).click();
  await breaks.getByRole('button', { name: `passed: ${title}` }).waitFor(WITHIN);
}
