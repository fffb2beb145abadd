import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { startSimulatedMacos } from '@footbridge/testkit/macos';
import type { SimulatedMacos } from '@footbridge/testkit/macos';
import { systemClock } from '@footbridge/runtime/clock';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { SEND } from './bundled-programs.ts';
import { Osascript } from './osascript.ts';
import type { SendInput } from './programs/send.ts';

const cleanup = createCleanup();
let macos: SimulatedMacos;
beforeEach(async () => {
  macos = await startSimulatedMacos();
  cleanup.add(() => macos.stop());
});
afterEach(() => cleanup.run());

const send = (input: Partial<SendInput>, timeoutMs = 60_000) =>
  new Osascript({ path: macos.commands.osascript, clock: systemClock }).run(
    SEND,
    { service: 'iMessage', target: { person: '+15550001111' }, content: { text: 'hello' }, ...input },
    timeoutMs,
  );
const DISPATCHED = {
  pid: expect.any(Number),
  end: 'ended',
  lines: [{ step: 'dispatching' }, { step: 'dispatched' }],
};

const DISPATCHING = { step: 'dispatching' };
const group = (ids: readonly string[], members: readonly string[]) => ({ target: { group: ids, members } });
const MEMBERS = ['+15550001111', '+15550002222'];

async function startGroup(): Promise<string> {
  await macos.messages.write({ from: '+15550001111', chat: { members: MEMBERS, service: 'iMessage' } });
  const chats = await macos.messages.chats();
  return 'value' in chats ? (chats.value[0]?.id ?? '') : '';
}

describe('the send program', () => {
  it('sends a text to a person through the account of the service', async () => {
    expect(await send({})).toEqual(DISPATCHED);
    expect(await send({ service: 'SMS' })).toEqual(DISPATCHED);
    expect(await macos.messages.sent()).toEqual([
      { to: { service: 'iMessage', handle: '+15550001111' }, text: 'hello' },
      { to: { service: 'SMS', handle: '+15550001111' }, text: 'hello' },
    ]);
  });

  it.each([
    'smart “quotes” and — dashes',
    'line\r\nline\ttab',
    'a lone surrogate \ud83d',
    'שלום ‏مرحبا‏',
    '\ufffc',
    '"; do shell script "touch /tmp/x" --',
    '`${process.exit()}` </script>\u2028',
    '😀'.repeat(10_000),
  ])('passes a text on unchanged: %j', async (text) => {
    expect(await send({ content: { text } })).toEqual(DISPATCHED);
    expect(await macos.messages.sent()).toMatchObject([{ text }]);
  });

  it('refuses to send without a connected account of the service', async () => {
    await macos.messages.configure({
      accounts: [
        { service: 'iMessage', enabled: true, connection: 'disconnected' },
        { service: 'SMS', enabled: false, connection: 'connected' },
      ],
    });
    const unresolved = {
      pid: expect.any(Number),
      end: 'ended',
      lines: [{ step: 'unresolved', reason: 'no_account' }],
    };
    expect(await send({})).toEqual(unresolved);
    expect(await send({ service: 'SMS' })).toEqual(unresolved);
    expect(await send({ service: 'RCS' })).toEqual(unresolved);
    expect(await macos.messages.sent()).toEqual([]);
  });

  it('sends to a group under the first id that Messages knows', async () => {
    const id = await startGroup();
    expect(await send(group(['any;+;chat0', id], MEMBERS.toReversed()))).toEqual(DISPATCHED);
    expect(await macos.messages.sent()).toMatchObject([{ to: { chatId: id } }]);
  });

  it('M11 refuses a group that Messages does not know, or that has other members', async () => {
    const id = await startGroup();
    expect((await send(group(['any;+;chat0'], MEMBERS))).lines).toEqual([
      { step: 'unresolved', reason: 'no_chat' },
    ]);
    const others = { step: 'unresolved', reason: 'other_members' };
    expect((await send(group([id], ['+15550001111']))).lines).toEqual([others]);
    expect((await send(group([id], ['+15550001111', '+15550003333']))).lines).toEqual([others]);
    expect(await macos.messages.sent()).toEqual([]);
  });

  it('sends a file', async () => {
    const file = join(await tempDir(cleanup), 'a "quoted" name\n.txt');
    writeFileSync(file, 'content');
    expect(await send({ content: { file } })).toEqual(DISPATCHED);
    expect(await macos.messages.sent()).toMatchObject([{ file: { path: file } }]);
  });

  it.each([-1743, -1728, -1700, -600, -609, -1712, -10004])(
    'reports Apple event error %i, and before the event that nothing was dispatched',
    async (error) => {
      await macos.messages.configure({ faults: [{ event: 'accounts', error }] });
      expect((await send({})).lines).toEqual([{ step: 'error', number: error }]);
      await macos.messages.configure({ faults: [{ event: 'send', error, effect: true }] });
      expect((await send({})).lines).toEqual([DISPATCHING, { step: 'error', number: error }]);
      expect(await macos.messages.sent()).toHaveLength(1);
    },
  );

  it('has no text, number or file name in its arguments', () => {
    expect(SEND).not.toContain('+1555');
    expect(SEND).toContain('readDataToEndOfFile');
  });
});

describe('osascript', () => {
  it('that ends with an exception has no lines, and the simulated one records it', async () => {
    const osascript = new Osascript({ path: macos.commands.osascript, clock: systemClock });
    expect(await osascript.run("throw new Error('out of order')", {}, 60_000)).toMatchObject({
      end: 'ended',
      lines: [],
    });
    expect(macos.osascriptErrors).toContain('out of order');
  });

  it.each([
    ['killed_before', { end: 'stopped', lines: [] }, 0],
    ['killed_after', { end: 'stopped', lines: [DISPATCHING] }, 1],
    ['garbage', { end: 'ended', lines: [] }, 0],
    ['flood', { end: 'overflowed' }, 0],
    ['half_json', { end: 'ended', lines: [] }, 0],
    ['silent', { end: 'ended', lines: [] }, 0],
  ] as const)('that is broken (%s) is told apart from one that worked', async (fault, output, sent) => {
    await macos.messages.breakOsascript({ faults: [fault] });
    expect(await send({})).toMatchObject(output);
    expect(await macos.messages.sent()).toHaveLength(sent);
    expect(await send({})).toEqual(DISPATCHED);
  });

  it('that hangs is stopped at the deadline, and the next program runs', async () => {
    await macos.messages.breakOsascript({ faults: ['hang_before'] });
    expect(await send({}, 1500)).toEqual({ pid: expect.any(Number), end: 'stopped', lines: [] });
    expect(await send({})).toEqual(DISPATCHED);
  });

  it('that does not exist is reported', async () => {
    const osascript = new Osascript({ path: '/nonexistent/osascript', clock: systemClock });
    expect(await osascript.run(SEND, {}, 60_000)).toEqual({ end: 'not_started', lines: [] });
  });

  it('runs one program at a time', async () => {
    const osascript = new Osascript({ path: macos.commands.osascript, clock: systemClock });
    const texts = Array.from({ length: 5 }, (_, index) => `text ${index}`);
    const input = (text: string) => ({
      service: 'iMessage',
      target: { person: '+15550001111' },
      content: { text },
    });
    await Promise.all(texts.map((text) => osascript.run(SEND, input(text), 60_000)));
    expect((await macos.messages.sent()).map(({ text }) => text)).toEqual(texts);
  });
});
