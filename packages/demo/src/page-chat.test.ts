import { createCleanup } from '@footbridge/testkit/cleanup';
import { hasChromium } from '@footbridge/testkit/servers/chromium';
import type { Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { CUSTOMER, FRIEND } from './demo.ts';
import { bubble, react, reactionOn, startTestPage, type, WITHIN } from './test-page.ts';
import type { OpenOptions, TestPage } from './test-page.ts';

const suiteCleanup = createCleanup();
const cleanup = createCleanup();
let test: TestPage;

const open = (options: OpenOptions = {}) => test.open(options, (task) => cleanup.add(task));

describe.skipIf(!(await hasChromium()))('the chats of the page', { timeout: 240_000 }, () => {
  beforeAll(async () => {
    test = await startTestPage(suiteCleanup);
  }, 300_000);
  afterAll(() => suiteCleanup.run());
  afterEach(() => cleanup.run());

  it('shows the time of the messages, not the time at which the page was opened', async () => {
    const { page, phone } = await open();
    await page.clock.setFixedTime(Date.now() + 24 * 3_600_000);
    await page.reload();
    const [first] = (await test.demo.mac.simulatorState()).chats[0]?.messages ?? [];
    const time = phone.locator('time').first();
    await time.waitFor(WITHIN);
    expect(await time.getAttribute('datetime')).toBe(new Date(first?.sentAt ?? 0).toISOString());
    expect(await time.innerText()).toMatch(/^Yesterday \d+:\d\d [AP]M$/);
  });

  it('offers new messages after the user has scrolled up, and follows again at the end', async () => {
    const { phone, inbox } = await open({ height: 700 });
    for (let index = 1; index <= 12; index++) await test.demo.mac.say(CUSTOMER, { text: `Line ${index}` });
    for (const side of [phone, inbox]) {
      await bubble(side, 'Line 12').waitFor(WITHIN);
      await expect.poll(() => isAtEnd(side), WITHIN).toBe(true);
      await scrollUp(side);
    }
    await test.demo.mac.say(CUSTOMER, { text: 'Below the fold' });
    for (const side of [phone, inbox]) {
      await side.getByRole('button', { name: '1 new message' }).waitFor(WITHIN);
      expect(await isAtEnd(side)).toBe(false);
      await side.getByRole('button', { name: '1 new message' }).click();
      await expect.poll(() => isAtEnd(side), WITHIN).toBe(true);
      expect(await side.locator('.new-items').count()).toBe(0);
    }
    await test.demo.mac.say(CUSTOMER, { text: 'Followed again' });
    for (const side of [phone, inbox]) {
      await bubble(side, 'Followed again').waitFor(WITHIN);
      await expect.poll(() => isAtEnd(side), WITHIN).toBe(true);
    }
  });

  it('shows an own message at once, also after the user has scrolled up', async () => {
    const { phone } = await open({ height: 700 });
    await bubble(phone, 'Followed again').waitFor(WITHIN);
    await scrollUp(phone);
    await type(phone, 'Written while reading above');
    await expect.poll(() => isAtEnd(phone), WITHIN).toBe(true);
  });

  it('plays the effect of a new message once, and none when the page is opened', async () => {
    const { page, phone } = await open({ motion: true });
    await bubble(phone, 'Perfect, see you at five!').waitFor(WITHIN);
    await test.demo.mac.say(CUSTOMER, { text: 'Party', effect: 'confetti' });
    await phone.locator('canvas').waitFor(WITHIN);
    await phone.locator('canvas').waitFor({ ...WITHIN, state: 'detached' });

    await page.addInitScript(
      `new MutationObserver((changes) => changes.forEach(({ addedNodes }) => addedNodes.forEach((node) => {
         if (node instanceof Element && (node.matches('canvas.screen-effect') || node.querySelector('canvas.screen-effect')))
           window.hasPlayed = true;
       }))).observe(document, { childList: true, subtree: true });`,
    );
    await page.reload();
    await bubble(phone, 'Party').waitFor(WITHIN);
    await test.demo.mac.say(CUSTOMER, { text: 'After the party' });
    await bubble(phone, 'After the party').waitFor(WITHIN);
    expect(await page.evaluate('window.hasPlayed')).toBeUndefined();
    await bubble(phone, 'Party').getByRole('button', { name: 'Replay' }).first().click();
    await expect.poll(() => page.evaluate('window.hasPlayed'), WITHIN).toBe(true);
  });

  it.each([[1440, 900] as const, [360, 740] as const])(
    'shows the whole emoji panel of the first and of the last message at %i pixels',
    async (width, height) => {
      const { page, phone } = await open({ width, height });
      await bubble(phone, 'Perfect, see you at five!').waitFor(WITHIN);
      for (const article of [phone.getByRole('article').first(), phone.getByRole('article').last()]) {
        await article.focus();
        await page.keyboard.press('t');
        await phone.getByRole('button', { name: 'Emoji', exact: true }).click();
        await phone.getByRole('textbox', { name: 'Other emoji' }).fill('not an emoji');
        await page.keyboard.press('Enter');
        await phone.getByText('Enter one emoji.').waitFor(WITHIN);
        const [panel, feed] = await Promise.all([
          boxOf(phone.getByRole('toolbar', { name: 'React' })),
          boxOf(phone.getByRole('feed')),
        ]);
        // The browser scrolls by whole pixels.
        expect(panel.top).toBeGreaterThan(feed.top - 1);
        expect(panel.bottom).toBeLessThan(feed.bottom + 1);
        expect(panel.left).toBeGreaterThan(feed.left - 1);
        expect(panel.right).toBeLessThan(feed.right + 1);
        await page.keyboard.press('Escape');
      }
    },
  );

  it('does not move an open emoji panel when a message arrives', async () => {
    const { page, phone } = await open({ height: 700 });
    await bubble(phone, 'Perfect, see you at five!').waitFor(WITHIN);
    await expect.poll(() => isAtEnd(phone), WITHIN).toBe(true);
    await phone.getByRole('article').last().focus();
    await page.keyboard.press('t');
    const panel = phone.getByRole('toolbar', { name: 'React' });
    const before = await boxOf(panel);
    await test.demo.mac.say(CUSTOMER, { text: 'Below the panel' });
    await bubble(phone, 'Below the panel').waitFor({ ...WITHIN, state: 'attached' });
    expect(await boxOf(panel)).toEqual(before);
    await page.keyboard.press('Escape');
    await expect.poll(() => isAtEnd(phone), WITHIN).toBe(true);
  });

  it('accepts one emoji as a reaction, and rejects words and several emoji', async () => {
    const { page, phone, inbox } = await open();
    await type(phone, 'Any emoji will do');
    await bubble(phone, 'Any emoji will do').focus();
    await page.keyboard.press('t');
    await phone.getByRole('button', { name: 'Emoji', exact: true }).click();
    const input = phone.getByRole('textbox', { name: 'Other emoji' });
    for (const wrong of ['fox', '🦊🦊', '7']) {
      await input.fill(wrong);
      await input.press('Enter');
      await phone.getByText('Enter one emoji.').waitFor(WITHIN);
      expect(await input.getAttribute('aria-invalid')).toBe('true');
    }
    await input.fill('👩‍🚀');
    await input.press('Enter');
    await reactionOn(inbox, 'Any emoji will do', '👩‍🚀 from Anna').waitFor(WITHIN);
    expect(await reactionOn(inbox, 'Any emoji will do', 'from Anna').count()).toBe(1);
  });

  it('lets the agent react to a sent message, whose GUID is in its delivered status', async () => {
    const { phone, inbox } = await open();
    await type(inbox, 'The agent likes this');
    await react(inbox, 'The agent likes this', 'Thumbs up');
    await reactionOn(phone, 'The agent likes this', 'Thumbs up from Harbor Bikes').waitFor(WITHIN);
    const reported = (await test.demo.crm.statuses()).map(({ messageGuid }) => messageGuid);
    const sent = (await test.demo.mac.simulatorState()).chats
      .flatMap(({ messages }) => messages)
      .find(({ text }) => text === 'The agent likes this');
    expect(reported).toContain(sent?.guid);
  });

  it('counts only messages of customers as unread', async () => {
    const { phone, inbox } = await open();
    await phone.getByRole('button', { name: 'Start a group chat' }).click();
    // Only a group shows who writes. Until it is open, a text goes to the chat with Anna.
    await phone.getByRole('button', { name: 'As Ben' }).waitFor(WITHIN);
    await type(phone, 'First in the group');
    await inbox.getByRole('button', { name: 'Anna & Ben' }).click();
    await type(inbox, 'An answer to both');
    await inbox.getByRole('button', { name: /^Anna(?! &)/ }).click();
    await bubble(inbox, 'Perfect, see you at five!').waitFor(WITHIN);

    const { chats } = await test.demo.mac.simulatorState();
    const group = chats.find(({ isGroup }) => isGroup)?.id ?? 0;
    await test.demo.mac.say(FRIEND, { chatId: group, text: 'Second in the group' });
    const row = inbox.getByRole('button', { name: 'Anna & Ben' });
    await row.getByText('1 unread').waitFor(WITHIN);

    const other = await open();
    await other.inbox.getByRole('button', { name: 'Anna & Ben' }).getByText('2 unread').waitFor(WITHIN);
  });
});

const feedOf = (side: Locator): Locator => side.getByRole('feed');

const isAtEnd = (side: Locator): Promise<boolean> =>
  feedOf(side).evaluate(
    (feed: { scrollHeight: number; scrollTop: number; clientHeight: number }) =>
      feed.scrollHeight - feed.scrollTop - feed.clientHeight < 2,
  );

async function scrollUp(side: Locator): Promise<void> {
  const page: Page = side.page();
  await feedOf(side).hover();
  await page.mouse.wheel(0, -300);
  await expect.poll(() => isAtEnd(side), WITHIN).toBe(false);
}

async function boxOf(part: Locator): Promise<{ top: number; bottom: number; left: number; right: number }> {
  const box = await part.boundingBox();
  if (box === null) throw new Error('not visible');
  return { top: box.y, bottom: box.y + box.height, left: box.x, right: box.x + box.width };
}
