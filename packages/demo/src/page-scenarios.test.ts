import { createCleanup } from '@footbridge/testkit/cleanup';
import { hasChromium } from '@footbridge/testkit/servers/chromium';
import { until } from '@footbridge/testkit/until';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { CRM_HONOURS_IDEMPOTENCY_KEY } from './demo.ts';
import { startTestPage, WITHIN } from './test-page.ts';
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
});
