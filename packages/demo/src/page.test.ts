import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';

import { createCleanup } from '@footbridge/testkit/cleanup';
import { hasChromium } from '@footbridge/testkit/servers/chromium';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { startPage } from './page-server.ts';
import { SCENARIOS } from './scenarios.ts';
import {
  bubble,
  choose,
  focused,
  goTo,
  hasLoaded,
  pane,
  react,
  reactionOn,
  startTestPage,
  tabTo,
  type,
  violationsIn,
  WITHIN,
} from './test-page.ts';
import type { OpenOptions, TestPage } from './test-page.ts';

const ARTEFACTS = join(import.meta.dirname, '../../../artefacts');
const THEMES = ['light', 'dark'] as const;
const SIZES = [
  [360, 740],
  [768, 1024],
  [1440, 900],
] as const;

const MODES = [
  ['ignores Idempotency-Key', false],
  ['honours Idempotency-Key', true],
] as const;

/** The states of the page that are checked for accessibility, and how a user reaches each of them. */
const STATES: readonly { name: string; part: string; show: (page: Page) => Promise<void> }[] = [
  { name: 'phone', part: 'html', show: (page) => goTo(page, 'Phone') },
  { name: 'emoji', part: '.pane-phone', show: (page) => openTapbacks(page, 'Emoji') },
  {
    name: 'emoji-hint',
    part: '.pane-phone',
    async show(page) {
      await openTapbacks(page, 'Emoji');
      await page.getByRole('textbox', { name: 'Other emoji' }).fill('fox');
      await page.keyboard.press('Enter');
    },
  },
  { name: 'sticker-tapbacks', part: '.pane-phone', show: (page) => openTapbacks(page, 'Sticker') },
  {
    name: 'effects',
    part: '.pane-phone',
    show: (page) => pane(page, 'phone').getByRole('button', { name: 'Send with an effect' }).click(),
  },
  {
    name: 'stickers',
    part: '.pane-inbox',
    async show(page) {
      await goTo(page, 'CRM');
      await pane(page, 'inbox').getByRole('button', { name: 'Send a sticker' }).click();
    },
  },
  {
    name: 'raw',
    part: '.pane-inbox',
    show: (page) => pane(page, 'inbox').getByRole('button', { name: 'Raw' }).click(),
  },
  {
    name: 'call',
    part: '.pane-wire',
    async show(page) {
      await goTo(page, 'Wire');
      const call = pane(page, 'wire').getByRole('button', { name: /^POST \/crm\/webhook 200/ });
      await call.first().click();
      await page.getByText('Valid signature: Ed25519').waitFor(WITHIN);
    },
  },
  { name: 'breaks', part: '.pane-breaks', show: (page) => goTo(page, 'Break it') },
];

async function openTapbacks(page: Page, more: string): Promise<void> {
  await bubble(pane(page, 'phone'), 'Perfect, see you at five!').focus();
  await page.keyboard.press('t');
  await pane(page, 'phone').getByRole('button', { name: more, exact: true }).click();
}

const suiteCleanup = createCleanup();
const cleanup = createCleanup();
let test: TestPage;

const open = (options: OpenOptions = {}, atEnd = (task: () => Promise<void>) => cleanup.add(task)) =>
  test.open(options, atEnd);

describe.skipIf(!(await hasChromium()))('the page of the demo', { timeout: 240_000 }, () => {
  beforeAll(async () => {
    [test] = await Promise.all([startTestPage(suiteCleanup), mkdir(ARTEFACTS, { recursive: true })]);
  }, 300_000);
  afterAll(() => suiteCleanup.run());
  afterEach(() => cleanup.run());

  it('weighs at most 80 KB gzipped', () => {
    const bytes = [...test.built.files]
      .filter(([path]) => path !== '/')
      .reduce((sum, [, { body }]) => sum + gzipSync(body).length, 0);
    expect(bytes).toBeLessThanOrEqual(80 * 1024);
  });

  describe.concurrent.each(THEMES)('with the %s theme', (theme) => {
    const name = 'has no accessibility violations at %i pixels';
    it.for(SIZES)(name, { timeout: 300_000 }, async ([width, height], { onTestFinished }) => {
      const { page, phone } = await open({ width, height, theme, tour: true }, onTestFinished);
      await bubble(phone, 'Perfect, see you at five!').waitFor(WITHIN);
      // The other panes are rendered too, even if they are hidden.
      for (const rendered of ['.pane-inbox [data-id]', '.pane-wire [data-n]', '.breaks-card'])
        await page
          .locator(rendered)
          .last()
          .waitFor({ ...WITHIN, state: 'attached' });
      const check = async (state: string, part: string) => {
        await page.screenshot({ path: join(ARTEFACTS, `demo-${theme}-${width}-${state}.png`) });
        expect([state, await violationsIn(page, part)]).toEqual([state, []]);
      };
      await check('tour', 'html');
      await page.getByRole('button', { name: 'End the tour' }).click();
      for (const { name: state, part, show } of STATES) {
        await show(page);
        await check(state, part);
        await page.keyboard.press('Escape');
      }
    });
  });

  it('reports that the demo has stopped, and reconnects after a restart', async () => {
    const server = createCleanup();
    cleanup.add(() => server.run());
    const url = await startPage(test.demo, 0, test.built, server);
    const { page, phone } = await open({ url });
    await bubble(phone, 'Perfect, see you at five!').waitFor(WITHIN);

    await server.run();
    await page.getByRole('alert').getByText('The demo has stopped').waitFor(WITHIN);
    expect(await startPage(test.demo, Number(new URL(url).port), test.built, server)).toBe(url);
    await page
      .getByRole('alert')
      .getByText('The demo has stopped')
      .waitFor({ ...WITHIN, state: 'detached' });
    await type(phone, 'We are back');
    await bubble(pane(page, 'inbox'), 'We are back').waitFor(WITHIN);
  });

  it('shows a typed message on the other side and its status in the inbox', async () => {
    const { phone, inbox } = await open();
    await type(phone, 'Is the blue bike still available?');
    await bubble(inbox, 'Is the blue bike still available?').waitFor(WITHIN);

    await type(inbox, 'Yes, we will hold it for you.');
    await bubble(phone, 'Yes, we will hold it for you.').waitFor(WITHIN);
    await bubble(inbox, 'Yes, we will hold it for you.').getByText('Delivered').waitFor(WITHIN);
  });

  it('renders untrusted text as text', async () => {
    const { page, phone, inbox } = await open();
    const hostile = '<img src=x onerror="document.title=1"> \u202Eright to left';
    await type(phone, hostile);
    await bubble(inbox, hostile).waitFor(WITHIN);
    expect(await page.locator('img[src="x"]').count()).toBe(0);
    expect(await page.title()).toContain('Footbridge');
  });

  it('adds, replaces and removes reactions from both sides', async () => {
    const { page, phone, inbox } = await open();
    await type(phone, 'React to this, agent');
    await type(inbox, 'React to this, customer');

    await react(inbox, 'React to this, agent', 'Thumbs up');
    await reactionOn(phone, 'React to this, agent', 'Thumbs up from Harbor Bikes').waitFor(WITHIN);
    await reactionOn(inbox, 'React to this, agent', 'Thumbs up from Harbor Bikes').waitFor(WITHIN);

    await react(phone, 'React to this, customer', 'Heart');
    await reactionOn(inbox, 'React to this, customer', 'Heart from Anna').waitFor(WITHIN);

    await bubble(phone, 'React to this, customer').focus();
    await page.keyboard.press('t');
    await phone.getByRole('button', { name: 'Emoji', exact: true }).click();
    await phone.getByRole('textbox', { name: 'Other emoji' }).fill('🦊');
    await page.keyboard.press('Enter');
    await reactionOn(inbox, 'React to this, customer', '🦊 from Anna').waitFor(WITHIN);
    expect(await reactionOn(inbox, 'React to this, customer', 'Heart from Anna').count()).toBe(0);

    await react(inbox, 'React to this, agent', 'Thumbs up');
    await reactionOn(phone, 'React to this, agent', 'Thumbs up').waitFor({ ...WITHIN, state: 'detached' });
    await reactionOn(inbox, 'React to this, agent', 'Thumbs up').waitFor({ ...WITHIN, state: 'detached' });

    await bubble(inbox, 'React to this, agent').focus();
    await page.keyboard.press('t');
    await inbox.getByRole('button', { name: 'Sticker', exact: true }).click();
    await inbox.getByRole('button', { name: 'Sticker: star' }).click();
    await reactionOn(phone, 'React to this, agent', 'Sticker from Harbor Bikes').waitFor(WITHIN);
    await hasLoaded(bubble(phone, 'React to this, agent').locator('img'));
  });

  it('opens the reaction bar on a long press and closes it on Escape', async () => {
    const { page, phone } = await open();
    await type(phone, 'Press and hold');
    const bar = phone.getByRole('toolbar', { name: 'React' });
    // The conversation may still be scrolling, so the press can hit something else.
    await expect
      .poll(
        async () => {
          await bubble(phone, 'Press and hold').getByText('Press and hold').hover();
          await page.mouse.down();
          await bar.waitFor({ timeout: 5000 }).catch(() => {});
          await page.mouse.up();
          return bar.isVisible();
        },
        { timeout: 60_000 },
      )
      .toBe(true);
    await page.keyboard.press('Escape');
    await bar.waitFor({ ...WITHIN, state: 'detached' });
  });

  it('sends pictures, voice messages, stickers and effects in both directions', async () => {
    const { page, phone, inbox } = await open();
    for (const [here, there] of [
      [phone, inbox],
      [inbox, phone],
    ] as const) {
      const pictures = there.getByRole('img', { name: /sunset.*png/ });
      const picturesBefore = await pictures.count();
      await choose(here, 'Send a file', 'Sample picture');
      await hasLoaded(pictures.nth(picturesBefore));

      const players = there.getByRole('button', { name: 'Play voice message' });
      const playersBefore = await players.count();
      await here.getByRole('button', { name: 'Send a voice message' }).click();
      await players.nth(playersBefore).waitFor(WITHIN);

      const stickers = there.locator('.sticker img');
      const stickersBefore = await stickers.count();
      await choose(here, 'Send a sticker', 'bike');
      await hasLoaded(stickers.nth(stickersBefore));

      await here.getByRole('textbox').fill(`With balloons, from ${here === phone ? 'Anna' : 'us'}`);
      await choose(here, 'Send with an effect', 'Balloons');
      await bubble(there, `With balloons, from ${here === phone ? 'Anna' : 'us'}`)
        .getByText('Sent with Balloons')
        .waitFor(WITHIN);
    }
    expect(await violationsIn(page)).toEqual([]);
  });

  it('shows a group as one conversation on both sides', async () => {
    const { phone, inbox } = await open();
    await phone.getByRole('button', { name: 'Start a group chat' }).click();
    await phone.getByRole('button', { name: 'As Ben' }).click();
    await type(phone, 'Ben is here too');
    await inbox.getByRole('button', { name: 'Anna & Ben' }).click();
    await bubble(inbox, 'Ben is here too').getByText('Ben', { exact: true }).waitFor(WITHIN);
    await type(inbox, 'Hello, both of you');
    await bubble(phone, 'Hello, both of you').waitFor(WITHIN);
  });

  it('highlights the footer in the raw view', async () => {
    const { phone, inbox } = await open();
    await type(phone, 'Show me my footer');
    await bubble(inbox, 'Show me my footer').waitFor(WITHIN);
    expect(await inbox.getByText('svc-metadata').count()).toBe(0);
    await inbox.getByRole('button', { name: 'Raw' }).click();
    const footer = bubble(inbox, 'Show me my footer').locator('mark');
    expect(await footer.innerText()).toMatch(
      /^-- svc-metadata:v1 --\n\{.*"message_guid".*\}\n-- end svc-metadata --$/,
    );
  });

  it('shows a call with masked secrets, exact bytes, a verified signature and a working curl command', async () => {
    const { page, inbox, wire } = await open();
    const text = `it's "quoted" \\ and $PATH, ${Date.now()}`;
    await type(inbox, text);
    await bubble(inbox, text).getByText('Delivered').waitFor(WITHIN);

    await wire
      .getByRole('button', { name: /^PUT .*status delivered/ })
      .last()
      .click();
    const detail = wire.getByRole('region', { name: 'Selected call or frame' });
    expect(await detail.locator('dl').first().innerText()).toMatch(/Authorization\s+Bearer .{4}…/i);

    await wire
      .getByRole('button', { name: /^POST \/crm\/webhook 200/ })
      .last()
      .click();
    await detail.getByText('Valid signature: Ed25519').waitFor(WITHIN);
    await detail.getByRole('button', { name: 'Exact bytes' }).click();
    expect(await detail.locator('pre').first().innerText()).toContain(JSON.stringify(text));

    await detail.getByRole('button', { name: 'Copy as curl' }).click();
    const command = String(await page.evaluate('navigator.clipboard.readText()'));
    expect((await runCurl(command)).status).toBe(200);
    expect((await runCurl(command.replace('quoted', 'altered'))).status).toBe(401);
  });

  it('can be used with the keyboard alone', async () => {
    const { page } = await open();
    await tabTo(page, 'Text as the customer');
    await page.keyboard.type('Typed without a mouse');
    await page.keyboard.press('Enter');
    await bubble(pane(page, 'inbox'), 'Typed without a mouse').waitFor(WITHIN);

    await page.keyboard.press('Shift+Tab');
    for (let step = 0; step < 8 && !(await focused(page)).includes(': '); step++)
      await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('End');
    expect(await focused(page)).toContain('Typed without a mouse');
    await page.keyboard.press('t');
    await expect.poll(() => focused(page), WITHIN).toBe('Heart');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    expect(await focused(page)).toBe('Thumbs down');
    await page.keyboard.press('Enter');
    const reaction = reactionOn(pane(page, 'inbox'), 'Typed without a mouse', 'Thumbs down from Anna');
    await reaction.waitFor(WITHIN);
    expect(await focused(page)).toContain('Typed without a mouse');

    await tabTo(page, /^(POST|PUT|ack|message_)/);
    const last = await focused(page);
    await page.keyboard.press('ArrowUp');
    expect(await focused(page)).not.toBe(last);
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Selected call or frame' }).waitFor(WITHIN);
    await page.keyboard.press('Escape');
    expect(await focused(page)).not.toBe('');

    await tabTo(page, 'Mac offline');
    for (let step = 0; step < 5; step++) await page.keyboard.press('ArrowRight');
    expect(await focused(page)).toBe('Wrong signature');
    await tabTo(page, 'Break it');
    await page.keyboard.press('Enter');
    await page.getByText('401, and nothing was sent').waitFor(WITHIN);
  });

  it('shows a tour of eight steps on the first visit only', async () => {
    const { page } = await open({ tour: true });
    const tour = page.getByRole('region', { name: 'Tour' });
    for (let step = 1; step <= 8; step++) {
      await tour.getByText(`${step} of /8`).waitFor(WITHIN);
      if (step === 2) {
        await type(pane(page, 'phone'), 'Following the tour');
        await tour.getByText('Done').waitFor(WITHIN);
      }
      await tour.getByRole('button', { name: step === 8 ? 'Finish' : 'Next' }).click();
    }
    await page.reload();
    await page.getByRole('heading', { name: 'On the wire' }).waitFor(WITHIN);
    expect(await tour.count()).toBe(0);
  });

  it.each(MODES)(
    'runs all scenarios, and every guarantee holds, with a CRM that %s',
    async (_mode, honours) => {
      const { page, wire, breaks } = await open();
      const toggle = breaks.getByRole('switch', { name: 'CRM honours Idempotency-Key' });
      await toggle.and(page.locator(':enabled')).waitFor(WITHIN);
      if ((await toggle.isChecked()) !== honours) await toggle.press('Space');
      await breaks.getByRole('switch', { checked: honours }).waitFor(WITHIN);
      await breaks.getByText(SCENARIOS[0]?.promise ?? '').waitFor(WITHIN);
      await breaks.getByRole('button', { name: /^Run all/ }).click();
      await breaks.getByText('13/13 passed').waitFor({ timeout: 240_000 });
      for (const { promise, title } of SCENARIOS) {
        await breaks.getByRole('button', { name: `passed: ${title}` }).click();
        await breaks.getByText(promise).waitFor(WITHIN);
        await breaks.getByText('Passed', { exact: true }).waitFor(WITHIN);
      }
      await page.screenshot({ path: join(ARTEFACTS, `demo-all-scenarios-passed-${String(honours)}.png`) });
      await wire
        .getByRole('button', { name: /more like this$/ })
        .last()
        .scrollIntoViewIfNeeded();
      expect(await violationsIn(page)).toEqual([]);
    },
    300_000,
  );
});

/** Lets the shell parse the command and sends the request without curl, which may not be installed. */
async function runCurl(command: string): Promise<Response> {
  const { stdout } = await promisify(execFile)('sh', ['-c', `curl() { printf '%s\\0' "$@"; }\n${command}`]);
  const words = stdout.split('\0').slice(0, -1);
  const after = (flag: string) =>
    words.flatMap((word, index) => (word === flag ? [words[index + 1] ?? ''] : []));
  const headers = after('-H').map((header): [string, string] => {
    const [name = '', ...value] = header.split(': ');
    return [name, value.join(': ')];
  });
  const url = words.find((word) => word.startsWith('http://')) ?? '';
  return fetch(url, { method: after('-X')[0] ?? '', headers, body: after('--data-binary')[0] ?? null });
}
