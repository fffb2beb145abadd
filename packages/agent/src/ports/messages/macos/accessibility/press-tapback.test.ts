import { CLASSIC_TYPES } from '@footbridge/protocol/metadata';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { MADE_UP_LANGUAGE } from '@footbridge/testkit/macos/accessibility/labels';
import { FINDER_PID } from '@footbridge/testkit/macos/accessibility/screen';
import type { ScreenFault, ScreenSettings } from '@footbridge/testkit/macos/accessibility/screen';
import { MACOS_VERSIONS } from '@footbridge/simulator/chat-db';
import type { MacosVersion } from '@footbridge/simulator/chat-db';
import { afterEach, describe, expect, it } from 'vitest';

import { ScreenInProcess } from './screen-in-process.fixture.ts';
import type { PressResult, TapbackPress } from '../../messages.ts';

const ANNA = '+15550100001';
const BERT = '+15550100002';
const PHOTO = { name: 'photo.jpg', mime: 'image/jpeg', base64: 'AAAA' };
const EFFECT = 'com.apple.messages.effect.CKConfettiEffect';
const LOVE = { kind: 'classic', type: 'love' } as const;

const cleanup = createCleanup();
afterEach(() => cleanup.run());

interface Scenario extends ScreenInProcess {
  readonly guid: string;
  press(tapback?: TapbackPress['tapback'], guid?: string, part?: number): Promise<PressResult>;
}

/** Starts a Mac with a conversation in which one text was written twice. */
async function start(macos: MacosVersion = 26): Promise<Scenario> {
  const mac = new ScreenInProcess(await tempDir(cleanup), macos);
  cleanup.add(() => mac.close());
  const write = (text: string) => mac.app.write({ from: ANNA, text }).guid;
  write('Before');
  const guid = write('See you at nine');
  write('See you at nine');
  write('After');
  await mac.app.settled();
  const chatId = mac.store.directChat(ANNA, 'iMessage')?.id ?? 0;
  return Object.assign(mac, {
    guid,
    press: (tapback: TapbackPress['tapback'] = LOVE, targetGuid = guid, part?: number) =>
      mac.react({ chatId, targetGuid, tapback, ...(part !== undefined && { part }) }),
  });
}

const PRESSED = { state: 'pressed' };

describe.each(MACOS_VERSIONS)('on macOS %i, a Tapback', (macos) => {
  it('is pressed once on its bubble, and the screen does not change otherwise', async () => {
    const mac = await start(macos);
    mac.screen.configure({ clipboard: 'of the owner' });
    expect(await mac.press()).toEqual(PRESSED);
    expect(mac.screen.actions()).toEqual({
      presses: [{ guid: mac.guid, part: 0, code: 2000 }],
      sends: [],
      frontApplication: FINDER_PID,
      clipboard: 'of the owner',
      draft: '',
      hasOpenPicker: false,
    });
    expect(mac.store.ownReaction(mac.guid)).toEqual(LOVE);
  });
});

describe.each(MACOS_VERSIONS)('on macOS %i in an unknown language', (macos) => {
  const toAnna = { to: 'person', handle: ANNA, service: 'iMessage' } as const;

  it('each Tapback, a reply and an effect are found by the labels of the system', async () => {
    const mac = await start(macos);
    mac.screen.configure({ language: MADE_UP_LANGUAGE });
    for (const type of CLASSIC_TYPES) {
      expect(await mac.press({ kind: 'classic', type })).toEqual(PRESSED);
      expect(mac.store.ownReaction(mac.guid)).toEqual({ kind: 'classic', type });
    }
    for (const how of [{ replyTo: mac.guid }, { effect: EFFECT }])
      expect(await mac.send({ kind: 'text', text: 'Hello', ...how }, toAnna)).toMatchObject({
        state: 'delivered',
      });
    expect(mac.screen.actions().sends).toMatchObject([{ replyTo: mac.guid }, { effect: EFFECT }]);
  });
});

describe('on a later version of macOS', () => {
  it.each<[string, Partial<ScreenSettings>, code: string]>([
    ['that renamed the transcript', { renamedIdentifiers: ['TranscriptCollectionView'] }, 'TARGET_NOT_FOUND'],
    ['that renamed the bubbles', { renamedIdentifiers: ['CKBalloonTextView'] }, 'TARGET_NOT_FOUND'],
    ['without the label of a Tapback', { absentLabels: ['acknowledgment.type.heart'] }, 'PICKER_FAILED'],
    ['without the label of a thread', { absentLabels: ['group.reply.collection'] }, 'PICKER_FAILED'],
  ])('%s nothing is pressed', async (_, settings, code) => {
    const mac = await start();
    mac.screen.configure(settings);
    expect(await mac.press()).toMatchObject({ state: 'failed', code });
    expect(mac.screen.actions()).toMatchObject({ presses: [], frontApplication: FINDER_PID });
  });
});

describe('a Tapback is not pressed', () => {
  const REFUSALS: readonly [string, Partial<ScreenSettings>, code: string, part: string][] = [
    ['without the Accessibility permission', { isTrusted: false }, 'AX_DENIED', 'Accessibility'],
    ['on a locked screen', { isLocked: true }, 'PICKER_FAILED', 'locked'],
    ["in another user's session", { isOnConsole: false }, 'PICKER_FAILED', 'session'],
    ['while a person types', { isTyping: true }, 'TIMEOUT', 'typing'],
    ['while Messages shows a dialog', { hasSheet: true }, 'PICKER_FAILED', 'dialog'],
    ['with two windows', { hasSecondWindow: true }, 'PICKER_FAILED', 'windows'],
    ['when macOS rejects the link', { acceptsLinks: false }, 'PICKER_FAILED', 'link'],
    ['when no bubble is selected', { selects: 'nothing' }, 'TARGET_NOT_FOUND', 'did not select'],
    ['when two bubbles are selected', { selects: 'two' }, 'TARGET_NOT_FOUND', 'several'],
    ['when another bubble is selected', { selects: 'wrong' }, 'TARGET_NOT_FOUND', 'another message'],
    ['when the link takes too long', { navigationMs: 60_000 }, 'TARGET_NOT_FOUND', 'did not select'],
    [
      'when Messages has another language than the system',
      { systemLanguage: 'ja' },
      'PICKER_FAILED',
      'action',
    ],
  ];
  it.each(REFUSALS)('M3 %s', async (_, settings, code, part) => {
    const mac = await start(15);
    mac.screen.configure(settings);
    expect(await mac.press()).toMatchObject({
      state: 'failed',
      code,
      message: expect.stringContaining(part),
    });
    expect(mac.screen.actions()).toMatchObject({
      presses: [],
      frontApplication: FINDER_PID,
      hasOpenPicker: false,
    });
  });

  const BETWEEN: readonly [string, ScreenFault, code: string][] = [
    ['the screen is locked', { when: 'shown', change: { isLocked: true } }, 'PICKER_FAILED'],
    ['the user is switched', { when: 'shown', change: { isOnConsole: false } }, 'PICKER_FAILED'],
    ['the permission is withdrawn', { when: 'shown', change: { isTrusted: false } }, 'AX_DENIED'],
    ['a second window opens', { when: 'shown', change: { hasSecondWindow: true } }, 'TARGET_NOT_FOUND'],
    [
      'the language changes',
      { when: 'opened', change: { language: 'de', systemLanguage: 'en' } },
      'PICKER_FAILED',
    ],
  ];
  it.each(BETWEEN)('M3 when %s between the selection and the press', async (_, fault, code) => {
    const mac = await start(15);
    mac.screen.configure({ faults: [fault] });
    expect(await mac.press()).toMatchObject({ state: 'failed', code });
    expect(mac.screen.actions().presses).toEqual([]);
  });

  it.each([13, 14, 15] as const)('M3 on macOS %i when the picker does not open', async (macos) => {
    const mac = await start(macos);
    mac.screen.configure({ opensPicker: false });
    const photo = mac.app.write({ from: ANNA, attachments: [PHOTO] }).guid;
    await mac.app.settled();
    expect(await mac.press(LOVE, photo)).toMatchObject({ code: 'PICKER_FAILED' });
    expect(mac.screen.actions().presses).toEqual([]);
  });

  it('M3 when the picker shows another state than the store', async () => {
    const mac = await start(14);
    const chat = { members: [ANNA], service: 'iMessage' };
    mac.beforeRun = () => void mac.app.react({ from: 'me', target: mac.guid, code: 2000, chat });
    expect(await mac.press()).toMatchObject({
      code: 'PICKER_FAILED',
      message: expect.stringContaining('state'),
    });
    expect(mac.screen.actions()).toMatchObject({ presses: [], hasOpenPicker: false });
  });

  it('while a reply of a person is open with a text', async () => {
    const mac = await start();
    mac.screen.leave({ thread: mac.guid, draft: 'half a sen' });
    expect(await mac.press()).toMatchObject({
      code: 'PICKER_FAILED',
      message: expect.stringContaining('reply'),
    });
    expect(mac.screen.actions()).toMatchObject({ presses: [], draft: 'half a sen' });
  });

  it('for a sticker, and no program runs', async () => {
    const mac = await start();
    const file = { path: '/x', name: 'x.png', mime: 'image/png' };
    expect(await mac.press({ kind: 'sticker', file })).toMatchObject({ code: 'STICKER_NOT_FEASIBLE' });
    expect(mac.runs).toBe(0);
  });

  it('on a part that the message does not have', async () => {
    const mac = await start();
    expect(await mac.press(LOVE, mac.guid, 1)).toMatchObject({ code: 'TARGET_NOT_FOUND' });
    expect(mac.runs).toBe(0);
  });
});

describe('a Tapback', () => {
  it('is pressed after an empty reply of a person was closed', async () => {
    const mac = await start();
    mac.screen.leave({ thread: mac.guid });
    expect(await mac.press()).toEqual(PRESSED);
  });

  it('is not pressed when that reply does not close', async () => {
    const mac = await start();
    mac.screen.configure({ closesThread: false });
    mac.screen.leave({ thread: mac.guid });
    expect(await mac.press()).toMatchObject({ code: 'PICKER_FAILED' });
    expect(mac.screen.actions().presses).toEqual([]);
  });

  it('does not disturb the text of a person in the field', async () => {
    const mac = await start();
    mac.screen.leave({ draft: 'half a sen' });
    expect(await mac.press()).toEqual(PRESSED);
    expect(mac.screen.actions().draft).toBe('half a sen');
  });

  it('starts Messages when it is not running', async () => {
    const mac = await start();
    mac.screen.configure({ isRunning: false });
    expect(await mac.press()).toEqual(PRESSED);
    expect(mac.runs).toBe(2);
  });

  it('is pressed once when Messages quits between the selection and the press', async () => {
    const mac = await start();
    mac.screen.configure({ faults: [{ when: 'shown', change: { isRunning: false } }] });
    expect(await mac.press()).toEqual(PRESSED);
    expect(mac.screen.actions().presses).toHaveLength(1);
  });

  it('goes to the second of two equal texts when the first is still selected', async () => {
    const mac = await start();
    mac.screen.configure({ navigationMs: 900 });
    await mac.press();
    const chatId = mac.store.directChat(ANNA, 'iMessage')?.id ?? 0;
    const other = mac.store.newestRows(chatId, 10).find(({ text }) => text === 'See you at nine');
    expect(await mac.press(LOVE, other?.guid)).toEqual(PRESSED);
    expect(mac.screen.actions().presses.map(({ guid }) => guid)).toEqual([mac.guid, other?.guid]);
  });

  it.each([1, 2])('is pressed again in a conversation of %i equal messages', async (count) => {
    const mac = await start();
    const guids = Array.from({ length: count }, () => mac.app.write({ from: BERT, text: 'Hi' }).guid);
    await mac.app.settled();
    mac.screen.configure({ navigationMs: 900 });
    for (const guid of [...guids, ...guids]) expect(await mac.press(LOVE, guid)).toEqual(PRESSED);
    expect(mac.screen.actions().presses.map(({ guid }) => guid)).toEqual([...guids, ...guids]);
  });

  it('is not pressed when an equal bubble stays selected', async () => {
    const mac = await start();
    const { guid } = mac.app.write({ from: BERT, text: 'Hi' });
    await mac.app.settled();
    await mac.press(LOVE, guid);
    mac.screen.configure({ keepsSelection: true });
    expect(await mac.press(LOVE, guid)).toMatchObject({ code: 'TARGET_NOT_FOUND' });
    expect(mac.screen.actions().presses).toHaveLength(1);
  });

  it('fails when Messages puts it on another message', async () => {
    const mac = await start();
    mac.screen.configure({ press: 'hits_another_bubble' });
    expect(await mac.press()).toMatchObject({
      code: 'TARGET_NOT_FOUND',
      message: expect.stringContaining('another message'),
    });
    expect(mac.screen.actions().presses).toHaveLength(1);
  });

  it('does not fail when the owner reacts to another message at the same moment', async () => {
    const mac = await start();
    const target = mac.app.write({ from: ANNA, text: 'Other' }).guid;
    const chat = { members: [ANNA], service: 'iMessage' };
    mac.beforeRun = () => void mac.app.react({ from: 'me', target, code: 2000, chat });
    await mac.app.settled();
    expect(await mac.press()).toEqual(PRESSED);
  });

  it('M6 counts as pressed without a row, and is not pressed again while its row may still appear', async () => {
    const mac = await start();
    mac.screen.configure({ press: 'has_no_effect' });
    expect(await mac.press()).toEqual(PRESSED);
    expect(await mac.press()).toMatchObject({ state: 'failed', code: 'TIMEOUT' });
    expect(mac.screen.actions().presses).toHaveLength(1);
    mac.clock.advance(30_000);
    mac.screen.configure({ press: 'works' });
    expect(await mac.press()).toEqual(PRESSED);
    expect(mac.store.ownReaction(mac.guid)).toEqual(LOVE);
  });

  it('can be pressed again as soon as the row of an earlier press appears', async () => {
    const mac = await start();
    mac.screen.configure({ press: 'has_no_effect' });
    await mac.press();
    const chat = { members: [ANNA], service: 'iMessage' };
    mac.app.react({ from: 'me', target: mac.guid, code: 2000, chat });
    mac.screen.configure({ press: 'works' });
    expect(await mac.press()).toEqual(PRESSED);
    expect(mac.store.ownReaction(mac.guid)).toBeUndefined();
  });

  it('is not pressed while the store cannot be read', async () => {
    const mac = await start();
    mac.app.remove();
    mac.store.refresh();
    expect(await mac.press()).toMatchObject({
      code: 'PICKER_FAILED',
      message: expect.stringContaining('absent'),
    });
    expect(mac.runs).toBe(0);
  });

  it.each([
    [-25204, 'works', PRESSED],
    [-25200, 'works', PRESSED],
    [-25202, 'works', PRESSED],
    [-25205, 'works', PRESSED],
    [-25206, 'has_no_effect', { state: 'failed', code: 'PICKER_FAILED' }],
    [-25202, 'has_no_effect', { state: 'failed', code: 'PICKER_FAILED' }],
  ] as const)('whose press ends with Accessibility error %i', async (pressError, press, result) => {
    const mac = await start();
    mac.screen.configure({ pressError, press });
    expect(await mac.press()).toMatchObject(result);
  });
});

describe('an emoji', () => {
  const emoji = (glyph: string) => ({ kind: 'emoji', emoji: glyph }) as const;

  it.each([15, 26] as const)('is pressed on macOS %i, whether it was used recently or not', async (macos) => {
    const mac = await start(macos);
    for (const glyph of ['🔥', '🌈', '😀', '💡']) {
      expect(await mac.press(emoji(glyph))).toEqual(PRESSED);
      expect(mac.store.ownReaction(mac.guid)).toEqual(emoji(glyph));
    }
    expect(mac.screen.actions().hasOpenPicker).toBe(false);
  });

  it.each([15, 26] as const)(
    'that macOS %i does not offer is not pressed, and the list is closed',
    async (macos) => {
      const mac = await start(macos);
      expect(await mac.press(emoji('🦄'))).toMatchObject({ code: 'EMOJI_NOT_IN_RECENTS' });
      expect(mac.screen.actions()).toMatchObject({ presses: [], hasOpenPicker: false });
    },
  );

  it.each([
    ['🌈', 0],
    ['😀', 1],
    ['😎', 1],
  ])('%s is found in a list that opens at %i and scrolls slowly', async (glyph, emojiScroll) => {
    const mac = await start();
    mac.screen.configure({ emojiScroll, scrollMs: 150 });
    expect(await mac.press(emoji(glyph))).toEqual(PRESSED);
  });

  it('is found with and without the variation selector', async () => {
    const mac = await start();
    expect(await mac.press(emoji('⭐️'))).toEqual(PRESSED);
  });
});
