import { createCleanup } from '@footbridge/testkit/cleanup';
import { hasChromium } from '@footbridge/testkit/servers/chromium';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { LOCATION } from './demo.ts';
import { startTestPage, WITHIN } from './test-page.ts';
import type { TestPage } from './test-page.ts';

const cleanup = createCleanup();
const afterTest = createCleanup();

describe.skipIf(!(await hasChromium()))('the console of the demo', () => {
  let testPage: TestPage;
  beforeAll(async () => {
    await import('@footbridge/console/build-console');
    testPage = await startTestPage(cleanup);
  }, 120_000);
  afterEach(() => afterTest.run());
  afterAll(() => cleanup.run());

  it('opens from the demo page, already signed in, and shows the same messages', async () => {
    const { page } = await testPage.open({}, (task) => afterTest.add(task));
    const opening = page.context().waitForEvent('page');
    await page.getByRole('link', { name: 'Console' }).click();
    const consolePage = await opening;
    await consolePage.getByRole('heading', { name: LOCATION }).waitFor(WITHIN);
    expect(consolePage.url()).toBe(`${testPage.demo.service.operatorUrl}/console`);
    await consolePage.getByRole('link', { name: 'Messages' }).first().click();
    await consolePage.getByText('+1•••0100').first().waitFor(WITHIN);

    await consolePage.goto(`${testPage.demo.service.operatorUrl}/console#code=${'x'.repeat(43)}`);
    await consolePage.reload();
    await consolePage.getByRole('heading', { name: LOCATION }).waitFor(WITHIN);
  });
});
