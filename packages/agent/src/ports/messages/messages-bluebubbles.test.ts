import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { systemClock } from '@footbridge/runtime/clock';
import { createLog } from '@footbridge/runtime/log';
import { DEFAULT_SETTINGS, startBlueBubbles } from '@footbridge/testkit/bluebubbles';
import type { BlueBubblesFault, SimulatedBlueBubbles } from '@footbridge/testkit/bluebubbles';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { startSimulatedMacos } from '@footbridge/testkit/macos';
import type { SimulatedMacos } from '@footbridge/testkit/macos';
import { SkippingClock } from '@footbridge/testkit/skipping-clock';
import { until } from '@footbridge/testkit/until';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import type { Limits } from './bluebubbles/await-outcome.ts';
import { BlueBubblesMessages } from './messages-bluebubbles.ts';
import type { BlueBubblesOptions } from './messages-bluebubbles.ts';
import type { OutgoingMessage, PressResult } from './messages.ts';
import type { StoreMemory } from './store-generation.ts';
import type { Outcome } from '../../outcome.ts';

const ANNA = '+15550100001';
const BERT = '+15550100002';
const STRANGER = '+15550100003';

/** No row will come: the engine gives up soon. */
const IMPATIENT: Partial<Limits> = { rowAfterReplyMs: 100, certainMs: 20, recoveryMs: 0 };
/** A row will come, however slow the machine is. */
const PATIENT: Partial<Limits> = { rowAfterReplyMs: 60_000, certainMs: 60_000 };

const cleanup = createCleanup();
const afterwards = createCleanup();
let macos: SimulatedMacos;
let server: SimulatedBlueBubbles;
let logs: string[];

beforeAll(async () => {
  macos = await startSimulatedMacos();
  afterwards.add(() => macos.stop());
  server = await startBlueBubbles(macos);
  afterwards.add(() => server.stop());
});
afterAll(() => afterwards.run());

beforeEach(async () => {
  await server.control.reset();
  // The longest of the server's timeouts takes 0.6 s.
  await server.control.configure({ timeScale: 0.002 });
  logs = [];
  await macos.messages.rebuild();
  await macos.messages.write({ from: ANNA, text: 'Hi' });
  await macos.messages.write({
    from: BERT,
    chat: { members: [ANNA, BERT], service: 'iMessage' },
    text: 'All',
  });
  await macos.messages.settled();
});
afterEach(() => cleanup.run());

async function open(
  limits: Partial<Limits> = PATIENT,
  options: Partial<BlueBubblesOptions> = {},
): Promise<BlueBubblesMessages> {
  const opened = await BlueBubblesMessages.open({
    home: macos.home,
    programs: macos.commands,
    url: server.url,
    password: DEFAULT_SETTINGS.password,
    memory: memory(),
    features: memory(),
    clock: systemClock,
    log: createLog('debug', { destination: { write: (line) => void logs.push(line) } }),
    limits,
    ...options,
  });
  cleanup.add(() => opened.close());
  return opened;
}

function memory(): StoreMemory {
  let saved: string | undefined;
  return {
    load: () => saved,
    save: (value) => {
      saved = value;
    },
  };
}

const text = (body: string, more: { effect?: string; replyTo?: string } = {}): OutgoingMessage => ({
  kind: 'text',
  text: body,
  ...more,
});

async function file(kind: 'file' | 'voice', name: string, content = 'content'): Promise<OutgoingMessage> {
  const path = join(await tempDir(cleanup), 'original');
  writeFileSync(path, content);
  return { kind, file: { path, name, mime: kind === 'voice' ? 'audio/mp4' : 'text/plain' } };
}

const toAnna = (
  engine: BlueBubblesMessages,
  message: OutgoingMessage,
  service: 'iMessage' | 'SMS' = 'iMessage',
): Promise<Outcome> => engine.send(message, { to: 'person', handle: ANNA, service });

const fail = (...faults: BlueBubblesFault[]): Promise<unknown> => server.control.fail({ faults });
const calls = async (...routes: string[]) =>
  (await server.control.calls()).filter(({ route }) => routes.includes(route)).map(({ fields }) => fields);
const performed = async () => {
  await server.control.settled();
  return (await server.control.performed()).map(({ command }) => command);
};
const guidOf = (result: Outcome): string => (result.state === 'delivered' ? result.guid : '');
const events = (event: string): string[] => logs.filter((line) => line.includes(`"event":"${event}"`));

describe('the BlueBubbles engine', () => {
  it('sends a text through the GUID in the store, with the Private API', async () => {
    const messages = await open();
    const sent = await toAnna(messages, text('Hello'));
    expect(messages.store.rowByGuid(guidOf(sent))).toMatchObject({
      fromMe: true,
      text: 'Hello',
      service: 'iMessage',
    });
    expect(await calls('text')).toMatchObject([
      { chatGuid: `any;-;${ANNA}`, method: 'private-api', message: 'Hello' },
    ]);
  });

  it('starts a conversation with a person or a group that the store does not have', async () => {
    const messages = await open();
    const person = { to: 'person', handle: STRANGER, service: 'iMessage' } as const;
    const group = { to: 'group', recipients: [ANNA, STRANGER], service: 'iMessage' } as const;
    expect(await messages.send(text('One'), person)).toMatchObject({ state: 'delivered' });
    expect(await messages.send(text('Two'), group)).toMatchObject({ state: 'delivered' });
    expect(await calls('new_chat')).toMatchObject([
      { addresses: [STRANGER], service: 'iMessage', method: 'private-api', message: 'One' },
      { addresses: [ANNA, STRANGER], service: 'iMessage', method: 'private-api', message: 'Two' },
    ]);
    // The chats have a GUID now.
    expect(await messages.send(text('Three'), person)).toMatchObject({ state: 'delivered' });
    expect(await messages.send(text('Four'), group)).toMatchObject({ state: 'delivered' });
    expect(await calls('new_chat')).toHaveLength(2);
  });

  it('sends to a group by its GUID', async () => {
    const messages = await open();
    const group = { to: 'group', recipients: [BERT, ANNA], service: 'iMessage' } as const;
    expect(await messages.send(text('Hello'), group)).toMatchObject({ state: 'delivered' });
    expect(await calls('text')).toMatchObject([{ chatGuid: expect.stringMatching(/^any;\+;chat/) }]);
  });

  it('W1 says that a person is not on iMessage when the row says so later, and sends the SMS as a new chat', async () => {
    await server.control.configure({ notOnIMessage: [ANNA], sentMs: 50 });
    const messages = await open();
    expect(await toAnna(messages, text('Hello'))).toMatchObject({ state: 'failed', notOnIMessage: true });
    expect(await toAnna(messages, text('Hello'), 'SMS')).toMatchObject({ state: 'delivered' });
    expect(await calls('new_chat')).toMatchObject([{ addresses: [ANNA], service: 'SMS' }]);
  });

  it('sends an effect, and a reply with its thread', async () => {
    const messages = await open();
    const effect = 'com.apple.MobileSMS.expressivesend.impact';
    const first = guidOf(await toAnna(messages, text('Bang', { effect })));
    expect(messages.store.rowByGuid(first)).toMatchObject({ effect });
    const reply = guidOf(await toAnna(messages, text('Yes', { replyTo: first })));
    expect(messages.store.rowByGuid(reply)).toMatchObject({ replyTo: first });
  });

  it('sends a file under a name without folders', async () => {
    const messages = await open();
    const sent = await toAnna(messages, await file('file', '../../Library/no:te\n.txt'));
    expect(messages.store.rowByGuid(guidOf(sent))?.attachments).toMatchObject([
      { name: 'no_te_.txt', mime: 'text/plain' },
    ]);
    expect(await calls('attachment')).toMatchObject([{ name: 'no_te_.txt', method: 'private-api' }]);
  });

  it('sends a recording as Opus in CAF, marked as a voice message', async () => {
    const messages = await open();
    const sent = await toAnna(messages, await file('voice', 'secret name.m4a'));
    expect(messages.store.rowByGuid(guidOf(sent))).toMatchObject({
      isVoice: true,
      attachments: [{ name: 'Audio Message.caf' }],
    });
    expect(await calls('attachment')).toMatchObject([{ name: 'Audio Message.caf', isAudioMessage: 'true' }]);
  });

  it('M4 finds the outcome of an interrupted voice message and of a file with an unsafe name', async () => {
    const messages = await open();
    const impatient = await open(IMPATIENT);
    const destination = { to: 'person', handle: ANNA, service: 'iMessage' } as const;
    for (const message of [await file('voice', 'memo.m4a'), await file('file', 'a/b.txt')]) {
      const since = messages.store.position();
      expect(await impatient.outcomeOf(message, destination, since)).toMatchObject({ state: 'unknown' });
      const sent = await messages.send(message, destination);
      expect(await messages.outcomeOf(message, destination, since)).toEqual(sent);
    }
  });

  it('reports a message that two helpers sent, and does not send it again', async () => {
    const features = memory();
    await server.control.configure({ helpers: 2 });
    const messages = await open(PATIENT, { features });
    expect(await toAnna(messages, text('Hello'))).toMatchObject({ state: 'delivered' });
    expect(await performed()).toHaveLength(2);
    await until(() => events('bluebubbles.sent_twice').length === 1);
    expect(await calls('text')).toHaveLength(1);
    expect(features.load()).toContain('"copies":{"count":1');
  });

  it('reports a message that the server sends again half a minute later, and not one that was sent twice on purpose', async () => {
    const clock = new SkippingClock();
    const messages = await open(PATIENT, { clock });
    await server.control.configure({ timeScale: 0.01 });
    await fail({ againMs: 30_000 });
    for (const body of ['Hello', 'Bye', 'Bye'])
      expect(await toAnna(messages, text(body))).toMatchObject({ state: 'delivered' });
    await clock.skip(30_000);
    await until(async () => (await performed()).length === 4);
    await clock.skip(30_000);
    expect(events('bluebubbles.sent_twice')).toHaveLength(1);
    expect(await calls('text')).toHaveLength(3);
  });

  it('takes the row that the response names when the owner writes the same text at that moment', async () => {
    const messages = await open({ ...PATIENT, replyAfterRowMs: 60_000 });
    await server.control.configure({ notOnIMessage: [ANNA], rowMs: 200, sentMs: 200, timeScale: 1 });
    const result = toAnna(messages, text('Hello'));
    await until(async () => (await calls('text')).length === 1);
    await macos.messages.write({ from: 'me', chat: { members: [ANNA], service: 'iMessage' }, text: 'Hello' });
    expect(await result).toMatchObject({ state: 'failed', notOnIMessage: true });
  });
});

describe('after a fault with the message sent, the engine reports it as sent', () => {
  it.each<[string, BlueBubblesFault]>([
    ['the helper does not respond', { silent: true }],
    ['500 with data null', { reply: { send: 'data_null' } }],
    ['504 while the work goes on', { reply: { send: 'gateway_timeout' } }],
    ['the row comes after the server gave up', { rowMs: 90_000 }],
    ['the connection is cut', { reply: { send: 'nothing' } }],
    ['the GUID of an older message', { guid: 'stale' }],
    ['the GUID of a message in another chat', { guid: 'foreign' }],
    ['HTML', { reply: { send: 'html' } }],
    ['10 MB', { reply: { send: 'huge' } }],
    ['half a JSON object', { reply: { send: 'half_json' } }],
    ['JSON of another program', { reply: { send: 'not_an_envelope' } }],
    ['an empty object', { reply: { send: 'empty_object' } }],
    ['an array instead of a message', { reply: { send: 'data_array' } }],
    ['400 for a command that was carried out', { rowMs: 100_000, reply: { send: 'invalid' } }],
    ['404 for a command that was carried out', { rowMs: 100_000, reply: { send: 'not_found' } }],
    ['an exception', { reply: { send: 'unhandled' } }],
    ['a stall of 124 seconds', { stallMs: 124_000 }],
    ['Messages quits and is started again', { messagesDownMs: 20_000 }],
    ['the server restarts', { serverDownMs: 20_000 }],
    [
      'a helper without the chat, beside one that has it',
      { effect: true, reply: { refuse: 'Chat does not exist!' } },
    ],
    ['a new kind of error', { effect: true, reply: { refuse: 'Something else' } }],
    [
      'a refusal, beside a helper that takes a second',
      { effect: true, rowMs: 500_000, reply: { refuse: 'Failed to send message!' } },
    ],
    ['200 with an error in the body', { reply: { send: 'error_in_200' } }],
    ['200 without a body', { reply: { send: 'empty' } }],
    ['429', { reply: { send: 'rate_limited' } }],
    ['a redirect to https', { reply: { send: 'redirect' } }],
    ['a reset in the middle of the response', { reply: { send: 'reset' } }],
    ['a response that does not end', { reply: { send: 'endless' } }],
    ['a response before there is a row', { early: true, rowMs: 100_000 }],
    ['a row in decomposed Unicode', { textForm: 'decomposed' }],
    ['a row without the spaces around the text', { textForm: 'trimmed' }],
    ['a row with marks of direction', { textForm: 'marked' }],
  ])('%s', async (_, fault) => {
    const messages = await open();
    const body = ' Grüße an René ';
    const earlier = await toAnna(messages, text('Earlier'));
    await messages.send(text('There'), { to: 'group', recipients: [ANNA, BERT], service: 'iMessage' });
    await fail(fault);
    const sent = await toAnna(messages, text(body));
    expect(sent).toMatchObject({ state: 'delivered' });
    expect(guidOf(sent)).not.toBe(guidOf(earlier));
    expect(messages.store.rowByGuid(guidOf(sent))?.text.normalize('NFC')).toContain(body.trim());
    expect((await performed()).filter((command) => command.text === body)).toHaveLength(1);
  });
});

it.each(['chunked', 'gzip', 'marked', 'closing', 'slow_header'] as const)(
  'reads responses that are %s: starts, sends, and knows which row is its own',
  async (wire) => {
    await server.control.configure({ wire });
    const messages = await open({ ...PATIENT, replyAfterRowMs: 60_000 });
    expect(messages.environment().report?.messages).toMatchObject({ running: true, signedIn: true });
    const sent = await toAnna(messages, text('Grüße'));
    expect(messages.store.rowByGuid(guidOf(sent))).toMatchObject({ fromMe: true, text: 'Grüße' });
    await fail({ reply: { refuse: 'iMessage Private API Helper is not connected!' } });
    const refused = await toAnna(await open(IMPATIENT), text('Hello'));
    expect(refused).toMatchObject({ state: 'failed', message: expect.stringContaining('helper') });
  },
);

it('finds the row of a second helper two seconds after the first one refused', async () => {
  const clock = new SkippingClock({ stopped: true });
  const messages = await open({}, { clock });
  await macos.messages.hold();
  await fail({ effect: true, reply: { refuse: 'Failed to send message!' } });
  const result = toAnna(messages, text('Hello'));
  await until(async () => (await calls('text')).length === 1);
  for (let step = 0; step < 20; step += 1) {
    await clock.skip(100);
    // A turn for the response.
    await calls('text');
  }
  await server.control.settled();
  await macos.messages.release();
  await macos.messages.settled();
  expect(await clock.skipThrough(result)).toMatchObject({ state: 'delivered' });
});

describe('M4 after a fault with nothing sent, the engine does not know, and does not send again', () => {
  it.each<[string, BlueBubblesFault]>([
    ['the helper does not respond', { silent: true }],
    ['500 with data null', { reply: { send: 'data_null' } }],
    ['504', { reply: { send: 'gateway_timeout' } }],
    ['no row within 60 seconds', {}],
    ['the connection is cut', { reply: { send: 'nothing' } }],
    ['HTML', { reply: { send: 'html' } }],
    ['10 MB', { reply: { send: 'huge' } }],
    ['half a JSON object', { reply: { send: 'half_json' } }],
    ['an empty object', { reply: { send: 'empty_object' } }],
    ['an array instead of a message', { reply: { send: 'data_array' } }],
    ['a call that is under way', { reply: { send: 'already_queued' } }],
    ['an exception', { reply: { send: 'unhandled' } }],
    ['Messages quits', { messagesDownMs: 20_000 }],
    ['the server restarts', { serverDownMs: 20_000 }],
    ['a new kind of error', { reply: { refuse: 'Something else' } }],
    ['200 without a body', { reply: { send: 'empty' } }],
    ['200 with an error in the body', { reply: { send: 'error_in_200' } }],
    ['200 with the GUID of a row that never comes', { early: true }],
    ['429', { reply: { send: 'rate_limited' } }],
    ['a redirect to https', { reply: { send: 'redirect' } }],
    ['a reset in the middle of the response', { reply: { send: 'reset' } }],
    [
      'an error of the match',
      { reply: { refuse: 'Failed to send message! See attached message error code.' } },
    ],
  ])('%s', async (_, fault) => {
    const messages = await open(IMPATIENT);
    await fail({ effect: false, ...fault });
    expect(await toAnna(messages, text('Hello'))).toMatchObject({ state: 'unknown', code: 'TIMEOUT' });
    expect(await calls('text')).toHaveLength(1);
  });

  it.each<[string, BlueBubblesFault]>([
    ['no row within 30 seconds', {}],
    // The server looks for the chat after the send.
    ['an error about the chat', { reply: { refuse: 'Chat does not exist!' } }],
  ])('for a text that starts a conversation: %s', async (_, fault) => {
    const messages = await open(IMPATIENT);
    await fail({ effect: false, ...fault });
    const sent = messages.send(text('Hello'), { to: 'person', handle: STRANGER, service: 'iMessage' });
    expect(await sent).toMatchObject({ state: 'unknown' });
    expect(await calls('new_chat')).toHaveLength(1);
  });
});

describe('M3 the engine fails for certain, and nothing was sent', () => {
  it.each([
    ['iMessage Private API is not enabled!', 'turned off'],
    ['iMessage Private API Helper is not connected!', 'helper'],
    ['Chat does not exist!', 'Open it once'],
    ['Failed to send message!', 'no connection to Messages'],
  ])('when the server refuses with "%s"', async (refuse, part) => {
    const messages = await open(IMPATIENT);
    await fail({ reply: { refuse } });
    expect(await toAnna(messages, text('Hello'))).toMatchObject({
      state: 'failed',
      code: 'IMESSAGE_ERROR',
      message: expect.stringContaining(part),
    });
    expect(await performed()).toEqual([]);
  });

  it('when the helper was lost after the start, and sends again once it is back', async () => {
    const messages = await open(IMPATIENT);
    await server.control.configure({ helpers: 0 });
    expect(await toAnna(messages, text('Hello'))).toMatchObject({ state: 'failed' });
    await server.control.configure({ helpers: 1 });
    expect(await toAnna(await open(), text('Hello'))).toMatchObject({ state: 'delivered' });
  });

  it('when the password was changed', async () => {
    const messages = await open(IMPATIENT);
    await server.control.configure({ password: 'another' });
    expect(await toAnna(messages, text('Hello'))).toMatchObject({
      state: 'failed',
      message: expect.stringContaining('password'),
    });
  });

  it('when the server is not running, and sends again once it is', async () => {
    const messages = await open(IMPATIENT);
    await server.halt();
    expect(await toAnna(messages, text('Hello'))).toMatchObject({
      state: 'failed',
      message: expect.stringContaining('not running'),
    });
    await server.start();
    expect(await toAnna(await open(), text('Hello'))).toMatchObject({ state: 'delivered' });
  });

  it('when the store cannot be read', async () => {
    await macos.messages.remove();
    const messages = await open();
    expect(await toAnna(messages, text('Hello'))).toMatchObject({
      state: 'failed',
      message: expect.stringContaining('absent'),
    });
    expect(await calls('text', 'new_chat')).toEqual([]);
  });

  it.each<[string, OutgoingMessage, string]>([
    [
      'a sticker',
      { kind: 'sticker', file: { path: '/x', name: 'x.png', mime: 'image/png' } },
      'COMPOSE_FAILED',
    ],
    ['a reply to a message of another chat', text('Hi', { replyTo: 'OTHER' }), 'TARGET_NOT_FOUND'],
  ])('for %s', async (_, message, code) => {
    const messages = await open();
    await macos.messages.write({ from: BERT, guid: 'OTHER', text: 'Hi' });
    await macos.messages.settled();
    expect(await toAnna(messages, message)).toMatchObject({ state: 'failed', code });
    expect(await performed()).toEqual([]);
  });

  it('for a missing file', async () => {
    const messages = await open();
    const gone = { path: '/does/not/exist', name: 'a.txt', mime: 'text/plain' };
    expect(await toAnna(messages, { kind: 'file', file: gone })).toMatchObject({
      state: 'failed',
      message: expect.stringContaining('cannot be read'),
    });
    expect(await calls('attachment')).toEqual([]);
  });

  it('for a file that would start a conversation, and for a recording that cannot be converted', async () => {
    const messages = await open();
    const stranger = { to: 'person', handle: STRANGER, service: 'iMessage' } as const;
    expect(await messages.send(await file('file', 'a.txt'), stranger)).toMatchObject({
      state: 'failed',
      message: expect.stringContaining('Send a text first'),
    });
    expect(await toAnna(messages, await file('voice', 'a.m4a', 'damaged'))).toMatchObject({
      state: 'failed',
      message: expect.stringContaining('convert'),
    });
    expect(await performed()).toEqual([]);
  });

  it('for a chat that does not exist, a new chat by RCS, and a handle that is not an address', async () => {
    const messages = await open();
    const send = async (...destination: Parameters<BlueBubblesMessages['send']>[1][]) =>
      Promise.all(destination.map((to) => messages.send(text('Hello'), to)));
    const results = await send(
      { to: 'chat', chatId: 4711 },
      { to: 'person', handle: STRANGER, service: 'RCS' },
      { to: 'person', handle: 'a";b', service: 'iMessage' },
    );
    expect(results.map(({ state }) => state)).toEqual(['failed', 'failed', 'failed']);
    expect(await calls('text', 'new_chat')).toEqual([]);
  });
});

describe('a reaction', () => {
  const react = (
    engine: BlueBubblesMessages,
    targetGuid: string,
    type: 'love' | 'like',
  ): Promise<PressResult> => {
    const chatId = engine.store.rowByGuid(targetGuid)?.chatId ?? 0;
    return engine.react({ chatId, targetGuid, tapback: { kind: 'classic', type } });
  };

  it('is set, replaced and removed according to the state in the store', async () => {
    const messages = await open();
    const target = guidOf(await toAnna(messages, text('React to me')));
    for (const type of ['love', 'like', 'like'] as const)
      expect(await react(messages, target, type)).toEqual({ state: 'pressed' });
    expect(messages.store.ownReaction(target)).toBeUndefined();
    expect((await calls('react')).map((fields) => fields['reaction'])).toEqual(['love', 'like', '-like']);
    expect(await calls('react')).toMatchObject([
      { chatGuid: `any;-;${ANNA}`, selectedMessageGuid: target, partIndex: 0 },
      {},
      {},
    ]);
  });

  it('with an emoji or a sticker returns its code without a call', async () => {
    const messages = await open();
    const targetGuid = guidOf(await toAnna(messages, text('React to me')));
    const chatId = messages.store.rowByGuid(targetGuid)?.chatId ?? 0;
    const sticker = { path: '/x', name: 'x.png', mime: 'image/png' };
    expect(
      await messages.react({ chatId, targetGuid, tapback: { kind: 'emoji', emoji: '🎉' } }),
    ).toMatchObject({
      code: 'EMOJI_NOT_IN_RECENTS',
    });
    expect(
      await messages.react({ chatId, targetGuid, tapback: { kind: 'sticker', file: sticker } }),
    ).toMatchObject({ code: 'STICKER_NOT_FEASIBLE' });
    expect(await calls('react')).toEqual([]);
  });

  it('to a message that is not in the chat fails without a call', async () => {
    const messages = await open();
    const targetGuid = guidOf(await toAnna(messages, text('React to me')));
    const tapback = { kind: 'classic', type: 'love' } as const;
    expect(await messages.react({ chatId: 1, targetGuid, tapback })).toMatchObject({
      code: 'TARGET_NOT_FOUND',
    });
    expect(await calls('react')).toEqual([]);
  });

  it('counts as pressed when it appears after a refusal', async () => {
    const messages = await open();
    const target = guidOf(await toAnna(messages, text('React to me')));
    await fail({ effect: true, rowMs: 100_000, reply: { send: 'not_found' } });
    expect(await react(messages, target, 'love')).toEqual({ state: 'pressed' });
    expect(messages.store.ownReaction(target)).toMatchObject({ type: 'love' });
  });

  it('fails when the server certainly refused it, and otherwise counts as pressed', async () => {
    const messages = await open(IMPATIENT);
    const target = guidOf(await toAnna(messages, text('React to me')));
    await fail({ reply: { refuse: 'iMessage Private API Helper is not connected!' } });
    expect(await react(messages, target, 'love')).toMatchObject({ state: 'failed', code: 'IMESSAGE_ERROR' });
    await fail({ effect: false, silent: true });
    expect(await react(messages, target, 'love')).toEqual({ state: 'pressed' });
    expect(messages.store.ownReaction(target)).toBeUndefined();
  });

  it('is no longer offered after Messages quit twice because of it', async () => {
    const features = memory();
    const messages = await open(IMPATIENT, { features });
    const target = guidOf(await toAnna(messages, text('React to me')));
    expect(messages.capabilities()).toEqual(expect.arrayContaining(['reactions', 'untested:reactions']));
    for (let time = 0; time < 2; time += 1) {
      await fail({ effect: false, messagesDownMs: 300_000 });
      await react(messages, target, 'love');
      // A send checks whether the helper is back.
      await until(async () => {
        await messages.send(text('Hello'), { to: 'chat', chatId: 4711 });
        return messages.capabilities().length > 0;
      });
    }
    expect(messages.capabilities()).not.toContain('reactions');
    expect(await react(messages, target, 'love')).toMatchObject({
      state: 'failed',
      code: 'NOT_IMPLEMENTED',
    });
    // Another start remembers it.
    expect((await open(IMPATIENT, { features })).capabilities()).not.toContain('reactions');
  });
});

describe('replies', () => {
  it('are labelled until a reply appeared in its thread', async () => {
    const messages = await open();
    const target = guidOf(await toAnna(messages, text('Question')));
    expect(messages.capabilities()).toContain('untested:replies');
    await toAnna(messages, text('Answer', { replyTo: target }));
    expect(messages.capabilities()).toContain('replies');
    expect(messages.capabilities()).not.toContain('untested:replies');
  });

  it('that arrived without their thread count as sent, and are not offered after the second time', async () => {
    const messages = await open();
    const target = guidOf(await toAnna(messages, text('Question')));
    for (const body of ['One', 'Two']) {
      await fail({ plain: true });
      expect(await toAnna(messages, text(body, { replyTo: target }))).toMatchObject({ state: 'delivered' });
    }
    expect(events('bluebubbles.reply_lost')).toHaveLength(2);
    expect(messages.capabilities()).not.toContain('replies');
    expect(await toAnna(messages, text('Three', { replyTo: target }))).toMatchObject({
      state: 'failed',
      code: 'NOT_IMPLEMENTED',
    });
    expect((await performed()).map((command) => command.text)).toEqual(['Question', 'One', 'Two']);
  });
});

describe('the log', () => {
  it('has no text, number, password or file name', async () => {
    const messages = await open(IMPATIENT);
    await server.control.configure({ helpers: 2 });
    await toAnna(messages, text('canary-text'));
    await toAnna(messages, await file('voice', 'canary-name.m4a'));
    await fail({ effect: false, reply: { refuse: `Something with canary-text for ${ANNA}` } });
    const unknown = await toAnna(messages, text('canary-text'));
    await server.control.configure({ password: 'other' });
    const failure = await toAnna(messages, text('canary-text'));
    await until(() => events('bluebubbles.sent_twice').length > 0);
    const trace = `${logs.join('\n')} ${JSON.stringify([unknown, failure])}`;
    for (const secret of [
      'canary',
      '0100001',
      DEFAULT_SETTINGS.password,
      encodeURIComponent(DEFAULT_SETTINGS.password),
    ])
      expect(trace).not.toContain(secret);
  });
});
