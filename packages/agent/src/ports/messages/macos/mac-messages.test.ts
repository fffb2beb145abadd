import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { systemClock } from '@footbridge/runtime/clock';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { createFasterClock } from '@footbridge/testkit/faster-clock';
import { startSimulatedMacos } from '@footbridge/testkit/macos';
import type { SimulatedMacos } from '@footbridge/testkit/macos';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { FILE_FOLDERS } from '../messages.ts';
import type { Messages, OutgoingMessage } from '../messages.ts';
import { messagesContract } from '../messages.contract.ts';
import { emptyMemory, readingContract } from '../reading.contract.ts';
import { MacMessages } from './mac-messages.ts';
import type { Outcome } from '../../../outcome.ts';

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

async function open(clock = systemClock, memory = emptyMemory()): Promise<Messages> {
  const opened = await MacMessages.open({
    home: macos.home,
    programs: macos.commands,
    memory,
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

  it('sends to the person of a direct chat and to an existing group', async () => {
    await macos.messages.write({ from: ANNA, text: 'Hi' });
    await macos.messages.write({ from: BERT, chat: { members: GROUP, service: 'iMessage' }, text: 'All' });
    await macos.messages.settled();
    const direct = messages.store.directChat(ANNA, 'iMessage');
    expect(await messages.send(text('One'), { to: 'chat', chatId: direct?.id ?? 0 })).toMatchObject({
      state: 'delivered',
    });
    const group = { to: 'group', recipients: [BERT, ANNA], service: 'iMessage' } as const;
    expect(await messages.send(text('Two'), group)).toMatchObject({ state: 'delivered' });
    expect(await macos.messages.sent()).toMatchObject([
      { to: { service: 'iMessage', handle: ANNA }, text: 'One' },
      { to: { chatId: expect.stringContaining(';+;') }, text: 'Two' },
    ]);
  });

  it('stages a file where Messages can read it, under its name', async () => {
    expect(await toAnna(await file('report.txt'))).toMatchObject({ state: 'delivered' });
    const [sent] = await macos.messages.sent();
    expect(sent?.file).toMatchObject({
      name: 'report.txt',
      path: expect.stringContaining(join(macos.home, 'Library/Messages/.send-staging')),
    });
  });

  it('sends a file from only one folder on request, and leaves nothing in the pictures', async () => {
    const anna = { to: 'person', handle: ANNA, service: 'iMessage' } as const;
    const photo = await file('photo.png');
    for (const folder of FILE_FOLDERS)
      expect(await messages.send(photo, anna, { folder })).toMatchObject({ state: 'delivered' });
    await macos.messages.configure({ sends: { error: 25 } });
    expect(await messages.send(photo, anna, { folder: 'messages' })).toMatchObject({ state: 'failed' });
    const paths = (await macos.messages.sent()).map((sent) => sent.file?.path);
    expect(paths).toEqual([
      expect.stringContaining('Library/Messages/.send-staging'),
      expect.stringContaining('Data/tmp/footbridge'),
      expect.stringContaining('Pictures/.footbridge'),
      expect.stringContaining('Library/Messages/.send-staging'),
    ]);
    expect(existsSync(join(macos.home, 'Pictures/.footbridge'))).toBe(false);
  });

  it('W1 reports that a person is not on iMessage only when the row shows it', async () => {
    await macos.messages.configure({ notOnIMessage: [ANNA] });
    expect(await toAnna(text('Hello'))).toMatchObject({ state: 'failed', notOnIMessage: true });
    expect(await toAnna(text('Hello'), 'SMS')).toMatchObject({ state: 'delivered' });
  });

  it('sends nothing while the store cannot be read', async () => {
    await macos.messages.remove();
    const engine = await open();
    expect(await toAnna(text('Hello'), 'iMessage', engine)).toMatchObject({
      state: 'failed',
      message: expect.stringContaining('absent'),
    });
    expect(await sends()).toBe(0);
  });

  it.each<[string, OutgoingMessage, string]>([
    ['an unknown effect', { kind: 'text', text: 'Hi', effect: 'slam' }, 'NOT_IMPLEMENTED'],
    ['a reply to an unknown message', { kind: 'text', text: 'Hi', replyTo: 'GUID' }, 'TARGET_NOT_FOUND'],
    [
      'a sticker',
      { kind: 'sticker', file: { path: '/x', name: 'x.png', mime: 'image/png' } },
      'COMPOSE_FAILED',
    ],
  ])('refuses %s and sends nothing instead', async (_, message, code) => {
    const result: Outcome = await toAnna(message);
    expect(result).toMatchObject({ state: 'failed', code });
    expect(await sends()).toBe(0);
  });
});

describe('the engine for macOS, as every engine', () => {
  // An interrupted send is looked for up to 30 s.
  messagesContract(() => open(createFasterClock(20, { keepAlive: false })));
});

describe('the engine for macOS, as every reader', () => {
  readingContract(
    () => macos,
    (memory) => open(systemClock, memory),
  );
});
