import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { EFFECT_IDS, LANGUAGES } from '@footbridge/testkit/macos/accessibility/labels';
import { FINDER_PID } from '@footbridge/testkit/macos/accessibility/screen';
import type { ScreenFault, ScreenSettings } from '@footbridge/testkit/macos/accessibility/screen';
import { MACOS_VERSIONS } from '@footbridge/simulator/chat-db';
import type { MacosVersion } from '@footbridge/simulator/chat-db';
import { afterEach, describe, expect, it } from 'vitest';

import { ScreenInProcess } from './screen-in-process.fixture.ts';
import type { Destination, OutgoingMessage } from '../../messages.ts';

const ANNA = '+15550100001';
const BERT = '+15550100002';
const CARL = 'carl@example.com';
const SLAM = 'com.apple.MobileSMS.expressivesend.impact';
const TO_ANNA: Destination = { to: 'person', handle: ANNA, service: 'iMessage' };
const NEW_GROUP: Destination = { to: 'group', recipients: [BERT, CARL], service: 'iMessage' };

const cleanup = createCleanup();
afterEach(() => cleanup.run());

interface Scenario extends ScreenInProcess {
  readonly guid: string;
}

async function start(macos: MacosVersion = 26): Promise<Scenario> {
  const mac = new ScreenInProcess(await tempDir(cleanup), macos);
  cleanup.add(() => mac.close());
  const { guid } = mac.app.write({ from: ANNA, text: 'Where shall we meet?' });
  mac.app.write({ from: ANNA, text: 'And when?' });
  await mac.app.settled();
  return Object.assign(mac, { guid });
}

const effect = (id = SLAM): OutgoingMessage => ({ kind: 'text', text: 'At the “station”', effect: id });
const reply = (guid: string): OutgoingMessage => ({ kind: 'text', text: 'At the station', replyTo: guid });
const text: OutgoingMessage = { kind: 'text', text: 'Hello all' };
const SENT = { state: 'delivered' };

describe.each(MACOS_VERSIONS)('on macOS %i', (macos) => {
  it('a reply is sent in the thread of its message', async () => {
    const mac = await start(macos);
    expect(await mac.send(reply(mac.guid), TO_ANNA)).toMatchObject(SENT);
    expect(mac.screen.actions()).toMatchObject({
      sends: [{ members: [ANNA], text: 'At the station', replyTo: mac.guid }],
      frontApplication: FINDER_PID,
      draft: '',
    });
  });

  it('a text is sent with its effect', async () => {
    const mac = await start(macos);
    expect(await mac.send(effect(), TO_ANNA)).toMatchObject(SENT);
    expect(mac.screen.actions().sends).toEqual([{ members: [ANNA], text: 'At the “station”', effect: SLAM }]);
  });

  it('a new group is created with its first text', async () => {
    const mac = await start(macos);
    expect(await mac.send(text, NEW_GROUP)).toMatchObject(SENT);
    expect(mac.screen.actions().sends).toEqual([{ members: [BERT, CARL], text: 'Hello all' }]);
    expect(mac.store.groupOf([BERT, CARL], 'iMessage')).toMatchObject({ isGroup: true });
  });
});

describe('an effect', () => {
  it.each(Object.entries(EFFECT_IDS))('%s is sent', async (_, id) => {
    const mac = await start();
    mac.screen.configure({ language: 'fr' });
    expect(await mac.send(effect(id), TO_ANNA)).toMatchObject(SENT);
    expect(mac.screen.actions().sends).toMatchObject([{ effect: id }]);
  });

  it.each(LANGUAGES)('is sent in the language %s', async (language) => {
    const mac = await start();
    mac.screen.configure({ language });
    expect(await mac.send(effect(), TO_ANNA)).toMatchObject(SENT);
  });

  it('that Messages does not offer is NOT_IMPLEMENTED, and no program runs', async () => {
    const mac = await start();
    const result = await mac.send(effect('com.apple.messages.effect.CKShootingStarEffect'), TO_ANNA);
    expect(result).toMatchObject({ state: 'failed', code: 'NOT_IMPLEMENTED' });
    expect(mac.runs).toBe(0);
  });

  it('is prepared a second time when the list of effects does not open, and sent once', async () => {
    const mac = await start();
    mac.screen.configure({ effectsStayClosed: 1 });
    expect(await mac.send(effect(), TO_ANNA)).toMatchObject(SENT);
    expect(mac.screen.actions().sends).toHaveLength(1);
  });

  it('to a person without a conversation goes to exactly this person', async () => {
    const mac = await start();
    expect(await mac.send(effect(), { to: 'person', handle: BERT, service: 'iMessage' })).toMatchObject(SENT);
    expect(mac.screen.actions().sends).toMatchObject([{ members: [BERT] }]);
  });
});

describe('a reply', () => {
  it('to a message of a thread is sent in this thread', async () => {
    const mac = await start();
    const { guid } = mac.app.write({
      from: ANNA,
      text: 'In a thread',
      columns: { thread_originator_guid: mac.guid },
    });
    await mac.app.settled();
    expect(await mac.send(reply(guid), TO_ANNA)).toMatchObject(SENT);
  });

  it('M11 to a message of another conversation is not sent', async () => {
    const mac = await start();
    const { guid } = mac.app.write({ from: BERT, text: 'Elsewhere' });
    await mac.app.settled();
    expect(await mac.send(reply(guid), TO_ANNA)).toMatchObject({
      state: 'failed',
      code: 'TARGET_NOT_FOUND',
    });
    expect(mac.runs).toBe(0);
  });

  it.each([
    ['outside of its thread', 'without_thread', (guid: string) => reply(guid)],
    ['without its effect', 'without_effect', () => effect()],
  ] as const)('M4 that was sent %s is unknown, and not sent again', async (part, sends, message) => {
    const mac = await start();
    mac.screen.configure({ sends });
    const result = await mac.send(message(mac.guid), TO_ANNA);
    expect(result).toMatchObject({ state: 'unknown', message: expect.stringContaining(part) });
    expect(mac.screen.actions().sends).toHaveLength(1);
  });
});

describe('a new group', () => {
  it.each([
    ['is not created when Messages does not accept a recipient', { acceptsRecipients: false }, 0],
    ['is a failure when a recipient is not on iMessage', { sendError: 22 }, 1],
  ] as const)('%s', async (_, settings, sends) => {
    const mac = await start();
    mac.screen.configure(settings);
    expect(await mac.send(text, NEW_GROUP)).toMatchObject({
      state: 'failed',
      code: 'IMESSAGE_GROUP_INVALID_RECIPIENTS',
    });
    expect(mac.screen.actions().sends).toHaveLength(sends);
  });

  it.each<[string, OutgoingMessage, Destination]>([
    ['a file', { kind: 'file', file: { path: '/x', name: 'x', mime: 'text/plain' } }, NEW_GROUP],
    ['an SMS', text, { ...NEW_GROUP, service: 'SMS' }],
  ])('is not created for %s', async (_, message, destination) => {
    const mac = await start();
    expect(await mac.send(message, destination)).toMatchObject({ code: 'IMESSAGE_GROUP_INVALID_RECIPIENTS' });
    expect(mac.runs).toBe(0);
  });
});

describe('nothing is sent', () => {
  const REFUSALS: readonly [
    string,
    Partial<ScreenSettings>,
    codes: readonly [reply: string, effect: string, group: string],
  ][] = [
    ['without the Accessibility permission', { isTrusted: false }, ['AX_DENIED', 'AX_DENIED', 'AX_DENIED']],
    ['on a locked screen', { isLocked: true }, ['IMESSAGE_ERROR', 'PICKER_FAILED', 'IMESSAGE_ERROR']],
    [
      "in another user's session",
      { isOnConsole: false },
      ['IMESSAGE_ERROR', 'PICKER_FAILED', 'IMESSAGE_ERROR'],
    ],
    ['while a person types', { isTyping: true }, ['TIMEOUT', 'TIMEOUT', 'TIMEOUT']],
    [
      'while Messages shows a dialog',
      { hasSheet: true },
      ['IMESSAGE_ERROR', 'PICKER_FAILED', 'IMESSAGE_ERROR'],
    ],
    ['with two windows', { hasSecondWindow: true }, ['IMESSAGE_ERROR', 'PICKER_FAILED', 'IMESSAGE_ERROR']],
    [
      'when the link takes too long',
      { navigationMs: 60_000 },
      ['TARGET_NOT_FOUND', 'PICKER_FAILED', 'IMESSAGE_GROUP_INVALID_RECIPIENTS'],
    ],
  ];
  const MESSAGES = [
    ['a reply', (guid: string) => reply(guid), TO_ANNA],
    ['an effect', () => effect(), TO_ANNA],
    ['a new group', () => text, NEW_GROUP],
  ] as const;
  const CASES = REFUSALS.flatMap(([when, settings, codes]) =>
    MESSAGES.map(([what, message, to], index) => ({ what, when, settings, message, to, code: codes[index] })),
  );
  it.each(CASES)('M3 for $what $when', async ({ settings, message, to, code }) => {
    const mac = await start(15);
    mac.screen.configure(settings);
    expect(await mac.send(message(mac.guid), to)).toMatchObject({ state: 'failed', code });
    expect(mac.screen.actions()).toMatchObject({ sends: [], frontApplication: FINDER_PID, draft: '' });
  });

  it.each(MESSAGES)('M3 for %s over a text of a person, which stays', async (_, message, to) => {
    const mac = await start();
    mac.screen.leave({ draft: 'half a sen' });
    expect(await mac.send(message(mac.guid), to)).toMatchObject({ state: 'failed' });
    expect(mac.screen.actions()).toMatchObject({ sends: [], draft: 'half a sen' });
  });

  const AFTER: readonly [string, ScreenFault['change']][] = [
    ['the screen is locked', { isLocked: true }],
    ['the user is switched', { isOnConsole: false }],
    ['another application comes to the front', { frontApplication: 999 }],
    ['a second window opens', { hasSecondWindow: true }],
  ];
  it.each(AFTER)('for a reply when %s before the send, and the draft is removed', async (_, change) => {
    // macOS 15 has no send button: Return is pressed.
    const mac = await start(15);
    mac.screen.configure({ faults: [{ when: 'composed', change }] });
    const result = await mac.send(reply(mac.guid), TO_ANNA);
    expect(result).toMatchObject({ state: 'failed' });
    expect(mac.screen.actions()).toMatchObject({ sends: [], draft: '' });
  });

  it('for a reply when Messages does not open the thread', async () => {
    const mac = await start();
    mac.screen.configure({ opensThread: false });
    expect(await mac.send(reply(mac.guid), TO_ANNA)).toMatchObject({ code: 'IMESSAGE_ERROR' });
    expect(mac.screen.actions()).toMatchObject({ sends: [], draft: '' });
  });

  it('for an effect when the list of effects stays closed', async () => {
    const mac = await start();
    mac.screen.configure({ effectsStayClosed: 5 });
    expect(await mac.send(effect(), TO_ANNA)).toMatchObject({ code: 'PICKER_FAILED' });
    expect(mac.screen.actions()).toMatchObject({ sends: [], draft: '' });
  });
});

it.each([-25200, -25202, -25205])(
  'M4 Accessibility error %i of the send button does not hide that the text was sent',
  async (pressError) => {
    const mac = await start();
    mac.screen.configure({ pressError });
    for (const message of [reply(mac.guid), effect()])
      expect(await mac.send(message, TO_ANNA)).toMatchObject({ state: 'delivered' });
    expect(mac.screen.actions().sends).toHaveLength(2);
  },
);

it('M4 the outcome is unknown when no row appears, and nothing is sent again', async () => {
  const mac = await start();
  mac.screen.configure({ sends: 'without_row' });
  expect(await mac.send(reply(mac.guid), TO_ANNA)).toMatchObject({ state: 'unknown', code: 'TIMEOUT' });
  expect(mac.screen.actions().sends).toHaveLength(1);
});
