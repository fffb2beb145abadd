import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { systemClock } from '@footbridge/runtime/clock';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { startSimulatedMacos } from '@footbridge/testkit/macos';
import type { SimulatedMacos } from '@footbridge/testkit/macos';
import { SkippingClock } from '@footbridge/testkit/skipping-clock';
import { until } from '@footbridge/testkit/until';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { Messages, OutgoingMessage, SendResult } from '../messages.ts';
import { MacMessages } from './mac-messages.ts';

const ANNA = '+15550100001';
const BERT = '+15550100002';
const GROUP = [ANNA, BERT];

const cleanup = createCleanup();
let macos: SimulatedMacos;
let messages: Messages;
beforeEach(async () => {
  macos = await startSimulatedMacos();
  cleanup.add(() => macos.stop());
  messages = await open();
});
afterEach(() => cleanup.run());

async function open(clock = systemClock): Promise<Messages> {
  let saved: string | undefined;
  const opened = await MacMessages.open({
    home: macos.home,
    programs: macos.commands,
    memory: {
      load: () => saved,
      save: (value) => {
        saved = value;
      },
    },
    clock,
    uiAutomation: true,
  });
  cleanup.add(() => opened.close());
  return opened;
}

const text = (body: string): OutgoingMessage => ({ kind: 'text', text: body });
const toAnna = (message: OutgoingMessage, service: 'iMessage' | 'SMS' = 'iMessage', engine = messages) =>
  engine.send(message, { to: 'person', handle: ANNA, service });

async function file(name: string): Promise<OutgoingMessage> {
  const path = join(await tempDir(cleanup), 'original');
  writeFileSync(path, 'content');
  return { kind: 'file', file: { path, name, mime: 'text/plain' } };
}

/** Sends to Anna, and skips the waiting after Messages got the message. */
async function withoutWaiting(message: OutgoingMessage): Promise<SendResult> {
  const clock = new SkippingClock();
  const result = toAnna(message, 'iMessage', await open(clock));
  await until(async () => (await sends()) === 1);
  let isDone = false;
  void result.finally(() => {
    isDone = true;
  });
  await until(async () => {
    await clock.skip(10_000);
    return isDone;
  });
  return result;
}

/** The number of messages that Messages was asked to send. */
const sends = async () => (await macos.messages.sent()).length;

describe('the engine for macOS', () => {
  it('reports the build of macOS, and the Automation permission once a send has shown it', async () => {
    const report = () => messages.environment().report;
    expect(report()).toEqual({ build: '25B78', permissions: {} });
    await macos.messages.configure({ faults: [{ event: 'accounts', error: -1743 }] });
    await toAnna(text('Denied'));
    expect(report()).toEqual({ build: '25B78', permissions: { automation: 'denied' } });
    await toAnna(text('Allowed'));
    expect(report()).toEqual({ build: '25B78', permissions: { automation: 'granted' } });
  });

  it('sends a text to a person and returns the guid of its row', async () => {
    const sent = await toAnna(text('Hello'));
    expect(sent).toMatchObject({ result: 'sent' });
    const row = messages.store.rowByGuid(sent.result === 'sent' ? sent.guid : '');
    expect(row).toMatchObject({ fromMe: true, text: 'Hello', service: 'iMessage' });
    expect(messages.store.chat(row?.chatId ?? 0)).toMatchObject({ recipients: [ANNA] });
  });

  it('sends to the person of a direct chat and to an existing group', async () => {
    await macos.messages.write({ from: ANNA, text: 'Hi' });
    await macos.messages.write({ from: BERT, chat: { members: GROUP, service: 'iMessage' }, text: 'All' });
    await macos.messages.settled();
    const direct = messages.store.directChat(ANNA, 'iMessage');
    expect(await messages.send(text('One'), { to: 'chat', chatId: direct?.id ?? 0 })).toMatchObject({
      result: 'sent',
    });
    const group = { to: 'group', recipients: [BERT, ANNA], service: 'iMessage' } as const;
    expect(await messages.send(text('Two'), group)).toMatchObject({ result: 'sent' });
    expect(await macos.messages.sent()).toMatchObject([
      { to: { service: 'iMessage', handle: ANNA }, text: 'One' },
      { to: { chatId: expect.stringContaining(';+;') }, text: 'Two' },
    ]);
  });

  it('stages a file where Messages can read it, under its name', async () => {
    expect(await toAnna(await file('report.txt'))).toMatchObject({ result: 'sent' });
    const [sent] = await macos.messages.sent();
    expect(sent?.file).toMatchObject({
      name: 'report.txt',
      path: expect.stringContaining(join(macos.home, 'Library/Messages/.send-staging')),
    });
  });

  it('tries a file once more from the second folder when Messages could not read it', async () => {
    await macos.messages.configure({ sends: { error: 34 } });
    expect(await toAnna(await file('a.txt'))).toMatchObject({ result: 'failed', code: 'IMESSAGE_ERROR' });
    expect((await macos.messages.sent()).map((sent) => sent.file?.path)).toEqual([
      expect.stringContaining('.send-staging'),
      expect.stringContaining('com.apple.MobileSMS'),
    ]);
  });

  it('W1 says that a person is not on iMessage only when the row says so', async () => {
    await macos.messages.configure({ notOnIMessage: [ANNA] });
    expect(await toAnna(text('Hello'))).toMatchObject({ result: 'failed', notOnIMessage: true });
    expect(await toAnna(text('Hello'), 'SMS')).toMatchObject({ result: 'sent' });
  });

  it.each([
    [-1743, 'AX_DENIED', 'Automation'],
    [-1728, 'IMESSAGE_ERROR', '-1728'],
    [-1700, 'IMESSAGE_ERROR', '-1700'],
    [-10004, 'IMESSAGE_ERROR', '-10004'],
  ])('M3 error %i before the send is %s, and nothing was sent', async (error, code, part) => {
    await macos.messages.configure({ faults: [{ event: 'accounts', error }] });
    expect(await toAnna(text('Hello'))).toMatchObject({
      result: 'failed',
      code,
      message: expect.stringContaining(part),
    });
    expect(await sends()).toBe(0);
  });

  it.each([-600, -609, -1712])('starts Messages after error %i and sends once', async (error) => {
    await macos.messages.configure({ faults: [{ event: 'accounts', error }] });
    expect(await toAnna(text('Hello'))).toMatchObject({ result: 'sent' });
    expect(await sends()).toBe(1);
    expect((await macos.messages.calls()).filter(({ program }) => program === 'open')).toEqual([
      { program: 'open', arguments: ['-gj', '-a', 'Messages'] },
    ]);
  });

  it('takes the outcome from the row when the Apple event fails after the send', async () => {
    await macos.messages.configure({ faults: [{ event: 'send', error: -1712, effect: true }] });
    expect(await toAnna(text('Hello'))).toMatchObject({ result: 'sent' });
    expect(await sends()).toBe(1);
  });

  it.each(['killed_after', 'hang_after'] as const)(
    'M4 takes the outcome from the row when osascript did not end by itself (%s)',
    async (fault) => {
      await macos.messages.breakOsascript({ faults: [fault] });
      expect(await withoutWaiting(text('Hello'))).toMatchObject({ result: 'sent' });
      expect(await sends()).toBe(1);
    },
  );

  it.each(['garbage', 'half_json', 'silent', 'killed_before'] as const)(
    'fails for certain when osascript ended before the send (%s)',
    async (fault) => {
      await macos.messages.breakOsascript({ faults: [fault] });
      expect(await toAnna(text('Hello'))).toMatchObject({ result: 'failed', code: 'IMESSAGE_ERROR' });
      expect(await sends()).toBe(0);
    },
  );

  it('M4 does not know the outcome when no row appears, and does not send again', async () => {
    await macos.messages.configure({ sends: { row: 'none' } });
    expect(await withoutWaiting(text('Hello'))).toMatchObject({ result: 'unknown', code: 'TIMEOUT' });
    expect(await sends()).toBe(1);
  });

  it('fails when Messages stores the message without a chat', async () => {
    await macos.messages.configure({ sends: { row: 'ghost' } });
    expect(await withoutWaiting(text('Hello'))).toMatchObject({
      result: 'failed',
      message: expect.stringContaining('without a chat'),
    });
  });

  it('does not take the same text in another chat for its own', async () => {
    await macos.messages.configure({ sends: { row: 'elsewhere' } });
    expect(await withoutWaiting(text('Hello'))).toMatchObject({ result: 'unknown' });
  });

  it('sends nothing while the store cannot be read', async () => {
    await macos.messages.remove();
    const engine = await open();
    expect(await toAnna(text('Hello'), 'iMessage', engine)).toMatchObject({
      result: 'failed',
      message: expect.stringContaining('absent'),
    });
    expect(await sends()).toBe(0);
  });

  it.each<[string, OutgoingMessage, string]>([
    ['an effect', { kind: 'text', text: 'Hi', effect: 'slam' }, 'NOT_IMPLEMENTED'],
    ['a reply', { kind: 'text', text: 'Hi', replyTo: 'GUID' }, 'NOT_IMPLEMENTED'],
    [
      'a sticker',
      { kind: 'sticker', file: { path: '/x', name: 'x.png', mime: 'image/png' } },
      'COMPOSE_FAILED',
    ],
  ])('refuses %s and sends nothing instead', async (_, message, code) => {
    const result: SendResult = await toAnna(message);
    expect(result).toMatchObject({ result: 'failed', code });
    expect(await sends()).toBe(0);
  });
});
