import { createCleanup } from '@footbridge/testkit/cleanup';
import { hasChromium } from '@footbridge/testkit/servers/chromium';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

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
});
