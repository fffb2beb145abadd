import { execFile } from 'node:child_process';
import { mkdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';

import { findChromium, hasChromium } from '@footbridge/testkit/servers/chromium';
import { undoList } from '@footbridge/testkit/undo';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { BREAKS } from './breaks.ts';
import { buildPage } from './build-page.ts';
import type { BuiltPage } from './build-page.ts';
import { startPage } from './page-server.ts';
import { tellStory } from './story.ts';
import { startWorld } from './world.ts';
import type { World } from './world.ts';

const ARTEFACTS = join(import.meta.dirname, '../../../artefacts');
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const THEMES = ['light', 'dark'] as const;
const SIZES = [
  [360, 740],
  [768, 1024],
  [1440, 900],
] as const;
const WITHIN = { timeout: 60_000 };

/** Everything that opens over the page or beside it, each reached as a person would. */
const STATES: readonly { name: string; part: string; show: (page: Page) => Promise<void> }[] = [
  { name: 'phone', part: 'html', show: (page) => goTo(page, 'Phone') },
  { name: 'emoji', part: '.pane-phone', show: (page) => openTapbacks(page, 'Any emoji') },
  { name: 'sticker-tapbacks', part: '.pane-phone', show: (page) => openTapbacks(page, 'A sticker') },
  {
    name: 'animations',
    part: '.pane-phone',
    show: (page) => pane(page, 'phone').getByRole('button', { name: 'Send with an animation' }).click(),
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
      await page.getByText('The signature is right').waitFor(WITHIN);
    },
  },
  { name: 'breaks', part: '.pane-breaks', show: (page) => goTo(page, 'Break it') },
];

async function openTapbacks(page: Page, more: string): Promise<void> {
  await bubble(pane(page, 'phone'), 'Perfect, see you at five!').focus();
  await page.keyboard.press('t');
  await pane(page, 'phone').getByRole('button', { name: more, exact: true }).click();
}

const standing = undoList();
const undo = undoList();
let built: BuiltPage;
let world: World;
let browser: Browser;
let address = '';

describe.skipIf(!(await hasChromium()))('the page of the demo', { timeout: 240_000 }, () => {
  beforeAll(async () => {
    const nothing = () => undefined;
    const [page, whole, started] = await Promise.all([
      buildPage(),
      startWorld({ service: 0, operator: 0, crm: 0 }, nothing, standing),
      findChromium().then((found) => chromium.launch(found)),
      mkdir(ARTEFACTS, { recursive: true }),
    ]);
    built = page;
    world = whole;
    browser = started;
    standing.add(() => started.close());
    await tellStory(world, nothing);
    address = await startPage(world, 0, built, standing);
  }, 300_000);
  afterAll(() => standing.run());
  afterEach(() => undo.run());

  it('weighs at most 80 KB gzipped', () => {
    const bytes = [...built.files]
      .filter(([path]) => path !== '/')
      .reduce((sum, [, { body }]) => sum + gzipSync(body).length, 0);
    expect(bytes).toBeLessThanOrEqual(80 * 1024);
  });

  describe.concurrent.each(THEMES)('in %s colours', (theme) => {
    const name = 'has no accessibility fault at %i pixels';
    it.for(SIZES)(name, { timeout: 300_000 }, async ([width, height], { onTestFinished }) => {
      const { page, phone } = await open({ width, height, theme, tour: true }, onTestFinished);
      await bubble(phone, 'Perfect, see you at five!').waitFor(WITHIN);
      // The other panes are drawn as well, seen or not.
      for (const drawn of ['.pane-inbox [data-id]', '.pane-wire [data-n]', '.breaks-card'])
        await page
          .locator(drawn)
          .last()
          .waitFor({ ...WITHIN, state: 'attached' });
      const look = async (state: string, part: string) => {
        await page.screenshot({ path: join(ARTEFACTS, `demo-${theme}-${width}-${state}.png`) });
        expect([state, await faults(page, part)]).toEqual([state, []]);
      };
      await look('tour', 'html');
      await page.getByRole('button', { name: 'End the tour' }).click();
      for (const { name: state, part, show } of STATES) {
        await show(page);
        await look(state, part);
        await page.keyboard.press('Escape');
      }
    });
  });

  it('says that the demo has ended, and comes back with it', async () => {
    const server = undoList();
    undo.add(() => server.run());
    const url = await startPage(world, 0, built, server);
    const { page, phone } = await open({ url });
    await bubble(phone, 'Perfect, see you at five!').waitFor(WITHIN);

    await server.run();
    await page.getByRole('alert').getByText('The demo has ended').waitFor(WITHIN);
    expect(await startPage(world, Number(new URL(url).port), built, server)).toBe(url);
    await page
      .getByRole('alert')
      .getByText('The demo has ended')
      .waitFor({ ...WITHIN, state: 'detached' });
    await write(phone, 'Here we are again');
    await bubble(pane(page, 'inbox'), 'Here we are again').waitFor(WITHIN);
  });

  it('carries what people type to the other side, and says what became of it', async () => {
    const { phone, inbox } = await open();
    await write(phone, 'Is the blue one still there?');
    await bubble(inbox, 'Is the blue one still there?').waitFor(WITHIN);

    await write(inbox, 'It is, we keep it for you.');
    await bubble(phone, 'It is, we keep it for you.').waitFor(WITHIN);
    await bubble(inbox, 'It is, we keep it for you.').getByText('Delivered').waitFor(WITHIN);
  });

  it('draws foreign text as text', async () => {
    const { page, phone, inbox } = await open();
    const nasty = '<img src=x onerror="document.title=1"> \u202Eright to left';
    await write(phone, nasty);
    await bubble(inbox, nasty).waitFor(WITHIN);
    expect(await page.locator('img[src="x"]').count()).toBe(0);
    expect(await page.title()).toContain('Footbridge');
  });

  it('shows a tapback on the other side, from both sides, and takes it away again', async () => {
    const { page, phone, inbox } = await open();
    await write(phone, 'Tap here, agent');
    await write(inbox, 'Tap here, customer');

    await tapBack(inbox, 'Tap here, agent', 'Thumbs up');
    await reactionOn(phone, 'Tap here, agent', 'Thumbs up from Harbor Bikes').waitFor(WITHIN);
    await reactionOn(inbox, 'Tap here, agent', 'Thumbs up from Harbor Bikes').waitFor(WITHIN);

    await tapBack(phone, 'Tap here, customer', 'Heart');
    await reactionOn(inbox, 'Tap here, customer', 'Heart from Anna').waitFor(WITHIN);

    await bubble(phone, 'Tap here, customer').focus();
    await page.keyboard.press('t');
    await phone.getByRole('button', { name: 'Any emoji' }).click();
    await phone.getByRole('textbox', { name: 'Another emoji' }).fill('🦊');
    await page.keyboard.press('Enter');
    await reactionOn(inbox, 'Tap here, customer', '🦊 from Anna').waitFor(WITHIN);
    expect(await reactionOn(inbox, 'Tap here, customer', 'Heart from Anna').count()).toBe(0);

    await tapBack(inbox, 'Tap here, agent', 'Thumbs up');
    await reactionOn(phone, 'Tap here, agent', 'Thumbs up').waitFor({ ...WITHIN, state: 'detached' });
    await reactionOn(inbox, 'Tap here, agent', 'Thumbs up').waitFor({ ...WITHIN, state: 'detached' });

    await bubble(inbox, 'Tap here, agent').focus();
    await page.keyboard.press('t');
    await inbox.getByRole('button', { name: 'A sticker', exact: true }).click();
    await inbox.getByRole('button', { name: 'Sticker: star' }).click();
    await reactionOn(phone, 'Tap here, agent', 'Sticker from Harbor Bikes').waitFor(WITHIN);
    await shown(bubble(phone, 'Tap here, agent').locator('img'));
  });

  it('a long press opens the tapbacks, Escape closes them', async () => {
    const { page, phone } = await open();
    await write(phone, 'Hold me');
    await bubble(phone, 'Hold me').getByText('Hold me').hover();
    await page.mouse.down();
    await phone.getByRole('toolbar', { name: 'Tap back' }).waitFor(WITHIN);
    await page.mouse.up();
    await page.keyboard.press('Escape');
    await phone.getByRole('toolbar', { name: 'Tap back' }).waitFor({ ...WITHIN, state: 'detached' });
  });

  it('sends pictures, voice, stickers and animations both ways', async () => {
    const { page, phone, inbox } = await open();
    for (const [here, there] of [
      [phone, inbox],
      [inbox, phone],
    ] as const) {
      const pictures = there.getByRole('img', { name: /sunset.*png/ });
      const before = await pictures.count();
      await choose(here, 'Send a file', 'A picture');
      await shown(pictures.nth(before));

      const players = there.getByRole('button', { name: 'Play the voice message' });
      const heard = await players.count();
      await here.getByRole('button', { name: 'Send a voice message' }).click();
      await players.nth(heard).waitFor(WITHIN);

      const stickers = there.locator('.sticker img');
      const stuck = await stickers.count();
      await choose(here, 'Send a sticker', 'bike');
      await shown(stickers.nth(stuck));

      await here.getByRole('textbox').fill(`With balloons, from ${here === phone ? 'Anna' : 'us'}`);
      await choose(here, 'Send with an animation', 'Balloons');
      await bubble(there, `With balloons, from ${here === phone ? 'Anna' : 'us'}`)
        .getByText('Sent with Balloons')
        .waitFor(WITHIN);
    }
    expect(await faults(page)).toEqual([]);
  });

  it('holds a group together', async () => {
    const { phone, inbox } = await open();
    await phone.getByRole('button', { name: 'Open a group chat' }).click();
    await phone.getByRole('button', { name: 'as Ben' }).click();
    await write(phone, 'Ben here, too');
    await inbox.getByRole('button', { name: 'Anna & Ben' }).click();
    await bubble(inbox, 'Ben here, too').getByText('Ben', { exact: true }).waitFor(WITHIN);
    await write(inbox, 'Hello you two');
    await bubble(phone, 'Hello you two').waitFor(WITHIN);
  });

  it('highlights the footer in the raw view', async () => {
    const { phone, inbox } = await open();
    await write(phone, 'What is under me?');
    await bubble(inbox, 'What is under me?').waitFor(WITHIN);
    expect(await inbox.getByText('svc-metadata').count()).toBe(0);
    await inbox.getByRole('button', { name: 'Raw' }).click();
    const footer = bubble(inbox, 'What is under me?').locator('mark');
    expect(await footer.innerText()).toMatch(
      /^-- svc-metadata:v1 --\n\{.*"message_guid".*\}\n-- end svc-metadata --$/,
    );
  });

  it('opens a call: headers without secrets, exact bytes, the signature checked, and curl that works', async () => {
    const { page, inbox, wire } = await open();
    const text = `it's "quoted" \\ and $PATH, ${Date.now()}`;
    await write(inbox, text);
    await bubble(inbox, text).getByText('Delivered').waitFor(WITHIN);

    await wire
      .getByRole('button', { name: /^PUT .*status delivered/ })
      .last()
      .click();
    const detail = wire.getByRole('region', { name: 'The chosen call or frame' });
    expect(await detail.locator('dl').first().innerText()).toMatch(/Authorization\s+Bearer .{4}…/i);

    await wire
      .getByRole('button', { name: /^POST \/crm\/webhook 200/ })
      .last()
      .click();
    await detail.getByText('The signature is right').waitFor(WITHIN);
    await detail.getByRole('button', { name: 'Exact bytes' }).click();
    expect(await detail.locator('pre').first().innerText()).toContain(JSON.stringify(text));

    await detail.getByRole('button', { name: 'Copy as curl' }).click();
    const command = String(await page.evaluate('navigator.clipboard.readText()'));
    expect((await runCurl(command)).status).toBe(200);
    expect((await runCurl(command.replace('quoted', 'altered'))).status).toBe(401);
  });

  it('works by keyboard alone', async () => {
    const { page } = await open();
    await tabTo(page, 'Write as the customer');
    await page.keyboard.type('No mouse here');
    await page.keyboard.press('Enter');
    await bubble(pane(page, 'inbox'), 'No mouse here').waitFor(WITHIN);

    await page.keyboard.press('Shift+Tab');
    for (let step = 0; step < 8 && !(await focused(page)).includes(': '); step++)
      await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('End');
    expect(await focused(page)).toContain('No mouse here');
    await page.keyboard.press('t');
    await expect.poll(() => focused(page), WITHIN).toBe('Heart');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    expect(await focused(page)).toBe('Thumbs down');
    await page.keyboard.press('Enter');
    await reactionOn(pane(page, 'inbox'), 'No mouse here', 'Thumbs down from Anna').waitFor(WITHIN);
    expect(await focused(page)).toContain('No mouse here');

    await tabTo(page, /^(POST|PUT|ack|message_)/);
    const last = await focused(page);
    await page.keyboard.press('ArrowUp');
    expect(await focused(page)).not.toBe(last);
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'The chosen call or frame' }).waitFor(WITHIN);
    await page.keyboard.press('Escape');
    expect(await focused(page)).not.toBe('');

    await tabTo(page, 'Mac offline');
    for (let step = 0; step < 5; step++) await page.keyboard.press('ArrowRight');
    expect(await focused(page)).toBe('Wrong signature');
    await tabTo(page, 'Break it');
    await page.keyboard.press('Enter');
    await page.getByText('401, and no phone rang').waitFor(WITHIN);
  });

  it('gives a tour of eight steps, once', async () => {
    const { page } = await open({ tour: true });
    const tour = page.getByRole('region', { name: 'Tour' });
    for (let step = 1; step <= 8; step++) {
      await tour.getByText(`${step} of /8`).waitFor(WITHIN);
      if (step === 2) {
        await write(pane(page, 'phone'), 'I follow the tour');
        await tour.getByText('Done').waitFor(WITHIN);
      }
      await tour.getByRole('button', { name: step === 8 ? 'Finish' : 'Next' }).click();
    }
    await page.reload();
    await page.getByRole('heading', { name: 'The wire' }).waitFor(WITHIN);
    expect(await tour.count()).toBe(0);
  });

  it('states each promise, breaks it all, and every promise holds', async () => {
    const { page } = await open();
    const breaks = pane(page, 'breaks');
    await breaks.getByText(BREAKS[0]?.promise ?? '').waitFor(WITHIN);
    await breaks.getByRole('button', { name: 'All 13, one by one' }).click();
    await breaks.getByText('13 of 13 held').waitFor({ timeout: 240_000 });
    for (const { promise, title } of BREAKS) {
      await breaks.getByRole('button', { name: `held: ${title}` }).click();
      await breaks.getByText(promise).waitFor(WITHIN);
      await breaks.getByText('Held', { exact: true }).waitFor(WITHIN);
    }
    await page.screenshot({ path: join(ARTEFACTS, 'demo-broken-and-held.png') });
  }, 300_000);
});

interface Opened {
  readonly page: Page;
  readonly phone: Locator;
  readonly wire: Locator;
  readonly inbox: Locator;
}

/** A page of its own. Whatever the browser complains about, a broken policy first of all, fails the test. */
async function open(
  options: { width?: number; height?: number; theme?: 'light' | 'dark'; tour?: boolean; url?: string } = {},
  atEnd: (cleanup: () => Promise<void>) => void = (cleanup) => undo.add(cleanup),
): Promise<Opened> {
  const { width = 1440, height = 900, theme = 'light', tour = false, url = address } = options;
  const context: BrowserContext = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  atEnd(() => context.close());
  if (!tour) await context.addInitScript("localStorage.setItem('footbridge-tour', 'seen')");
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    const isComplaint = message.type() === 'error' || message.type() === 'warning';
    // Nobody answers at an address of its own: the test has stopped the server.
    const isExpected = url !== address && message.text().includes('net::ERR_');
    if (isComplaint && !isExpected) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  atEnd(async () => expect(complaints).toEqual([]));
  await page.goto(url);
  return { page, phone: pane(page, 'phone'), wire: pane(page, 'wire'), inbox: pane(page, 'inbox') };
}

/** On a small screen the panes are tabs. */
async function goTo(page: Page, tab: string): Promise<void> {
  const button = page.getByRole('navigation').getByRole('button', { name: tab });
  if (await button.isVisible()) await button.click();
}

const pane = (page: Page, name: string): Locator => page.locator(`.pane-${name}`);
const bubble = (side: Locator, text: string): Locator => side.getByRole('article').filter({ hasText: text });
const reactionOn = (side: Locator, text: string, what: string): Locator =>
  bubble(side, text).getByRole('listitem').filter({ hasText: what });

async function write(side: Locator, text: string): Promise<void> {
  const line = side.getByRole('textbox', { name: /^Write as/ });
  await line.fill(text);
  await line.press('Enter');
  await bubble(side, text).waitFor(WITHIN);
}

async function tapBack(side: Locator, text: string, tapback: string): Promise<void> {
  await bubble(side, text).and(side.locator('[aria-keyshortcuts]')).waitFor(WITHIN);
  await bubble(side, text).focus();
  await side.page().keyboard.press('t');
  await side.getByRole('button', { name: tapback, exact: true }).click();
}

async function choose(side: Locator, menu: string, choice: string): Promise<void> {
  await side.getByRole('button', { name: menu }).click();
  await side.getByRole('menuitem', { name: choice }).click();
}

/** A picture with pixels in it, not just a place for one. */
async function shown(picture: Locator): Promise<void> {
  await picture.waitFor(WITHIN);
  await expect
    .poll(() => picture.evaluate((image: object) => Number(Reflect.get(image, 'naturalWidth'))), WITHIN)
    .toBeGreaterThan(0);
}

const focused = async (page: Page): Promise<string> =>
  String(await page.evaluate("document.activeElement?.ariaLabel ?? document.activeElement?.innerText ?? ''"));

const MOST_TABS = 60;

async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  for (let step = 0; step < MOST_TABS; step++) {
    await page.keyboard.press('Tab');
    const now = await focused(page);
    if (typeof name === 'string' ? now.trim() === name : name.test(now)) return;
  }
  throw new Error(`${String(name)} cannot be reached with Tab`);
}

async function faults(page: Page, part = 'html'): Promise<unknown[]> {
  if ((await page.evaluate("typeof axe === 'undefined'")) === true)
    await page.evaluate(await readFile(AXE, 'utf8'));
  const violations = await page.evaluate(
    `axe.run('${part}', { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.length, ...nodes.slice(0, 3).map(({ html, failureSummary }) => html.slice(0, 160) + ' ' + failureSummary)]))`,
  );
  return Array.isArray(violations) ? violations : [violations];
}

/** What the shell makes of the command, sent without curl: not every machine has it. */
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
