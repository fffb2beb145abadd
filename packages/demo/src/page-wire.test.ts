import { createCleanup } from '@footbridge/testkit/cleanup';
import { hasChromium } from '@footbridge/testkit/servers/chromium';
import type { Locator } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { CUSTOMER } from './demo.ts';
import { goTo, startTestPage, WITHIN } from './test-page.ts';
import type { OpenOptions, TestPage } from './test-page.ts';

const suiteCleanup = createCleanup();
const cleanup = createCleanup();
let test: TestPage;

const open = (options: OpenOptions = {}) => test.open(options, (task) => cleanup.add(task));

describe.skipIf(!(await hasChromium()))('the wire on the page', { timeout: 240_000 }, () => {
  beforeAll(async () => {
    test = await startTestPage(suiteCleanup);
  }, 300_000);
  afterAll(() => suiteCleanup.run());
  afterEach(() => cleanup.run());

  it('groups the rows of overlapping messages by message', async () => {
    const { wire } = await open();
    await test.demo.crm.injectFault({ match: 'inbound', times: 1, how: { answerDelayMs: 1500 } });
    await test.demo.mac.say(CUSTOMER, { text: 'The slow one' });
    await test.demo.mac.say(CUSTOMER, { text: 'The one behind it' });
    const whole = ['message_received', /^POST …\/inbound 201/, 'ack delivered'].map((row) =>
      expect.stringMatching(row),
    );
    await expect.poll(() => rowsBelow(wire, 'The slow one'), WITHIN).toEqual(whole);
    await expect.poll(() => rowsBelow(wire, 'The one behind it'), WITHIN).toEqual(whole);
  });

  it('follows the traffic again after a row was opened and closed, and offers new rows in between', async () => {
    const { page, wire } = await open();
    const list = wire.getByRole('list', { name: /^Calls and frames/ });
    await wire.locator('[data-n]').last().click();
    await wire.getByRole('region', { name: 'Selected call or frame' }).waitFor(WITHIN);
    await test.demo.mac.say(CUSTOMER, { text: 'While a row is open' });
    await wire.getByRole('button', { name: /^\d+ new rows$/ }).waitFor(WITHIN);
    await page.keyboard.press('Escape');
    await wire.getByText('While a row is open').waitFor(WITHIN);

    await list.hover();
    await page.mouse.wheel(0, -400);
    await expect.poll(() => isAtEnd(list), WITHIN).toBe(false);
    await test.demo.mac.say(CUSTOMER, { text: 'After scrolling up' });
    await wire.getByRole('button', { name: /^\d+ new rows$/ }).click();
    await expect.poll(() => isAtEnd(list), WITHIN).toBe(true);
    await test.demo.mac.say(CUSTOMER, { text: 'Followed again' });
    await wire.getByText('Followed again').waitFor(WITHIN);
    await expect.poll(() => isAtEnd(list), WITHIN).toBe(true);
    expect(await wire.locator('.new-items').count()).toBe(0);
  });

  it('shows a kill and the restart between the traffic before and after', async () => {
    const { wire, breaks } = await open();
    await breaks.getByRole('button', { name: 'Kill the service' }).click();
    await breaks.getByRole('button', { name: 'Break it' }).click();
    await breaks.getByRole('button', { name: 'passed: Kill the service' }).waitFor(WITHIN);
    const items = await wire.getByRole('listitem').allInnerTexts();
    const at = (text: RegExp) => items.findIndex((item) => text.test(item));
    expect(items[at(/kill -9/)]).toMatch(/kill -9\s+Footbridge was killed \(process \d+\)/);
    const before = items.slice(0, at(/kill -9/));
    expect(before.some((item) => item.includes('Message 1 of 5'))).toBe(true);
    expect(at(/kill -9/)).toBeLessThan(at(/Footbridge is running again/));
    const after = items.slice(at(/Footbridge is running again/));
    expect(after.some((item) => item.includes('Message 5 of 5'))).toBe(true);
  });

  it.each([360, 768, 1440])('keeps a long message inside its pane at %i pixels', async (width) => {
    const { page, wire } = await open({ width });
    await goTo(page, 'Wire');
    await test.demo.mac.say(CUSTOMER, { text: `A long one ${'and longer '.repeat(40)} ${'x'.repeat(300)}` });
    await wire.getByText('A long one').last().waitFor(WITHIN);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    const [list, around] = await Promise.all([
      wire.getByRole('list', { name: /^Calls and frames/ }).boundingBox(),
      wire.boundingBox(),
    ]);
    expect(list?.width).toBeLessThanOrEqual(around?.width ?? 0);
  });

  it('folds equal messages, and unfolds them with the keyboard', async () => {
    const { page, wire } = await open();
    for (let index = 0; index < 5; index++) await test.demo.mac.say(CUSTOMER, { text: 'Again and again' });
    await wire.getByText('5 times').waitFor(WITHIN);
    const more = wire.getByRole('button', { name: 'Show 3 more like this' });
    const before = await wire.locator('[data-n]').count();
    await more.focus();
    await page.keyboard.press('Enter');
    await wire.getByRole('button', { name: 'Hide 3' }).waitFor(WITHIN);
    expect(await wire.locator('[data-n]').count()).toBeGreaterThanOrEqual(before + 3);
  });
});

/** Returns the labels of the rows between the heading with that quote and the next heading. */
async function rowsBelow(wire: Locator, quote: string): Promise<string[]> {
  const items = await wire.getByRole('listitem').allInnerTexts();
  const from = items.findIndex((item) => item.includes(`“${quote}”`));
  const rest = items.slice(from + 1);
  const end = rest.findIndex((item) => item.includes('“'));
  return rest.slice(0, end === -1 ? undefined : end).map((item) => item.replaceAll(/\s+/g, ' ').trim());
}

const isAtEnd = (list: Locator): Promise<boolean> =>
  list.evaluate(
    (element: { scrollHeight: number; scrollTop: number; clientHeight: number }) =>
      element.scrollHeight - element.scrollTop - element.clientHeight < 2,
  );
