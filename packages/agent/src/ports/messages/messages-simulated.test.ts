import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { systemClock } from '@footbridge/runtime/clock';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { startSimulatedMacos } from '@footbridge/testkit/macos';
import type { SimulatedMacos } from '@footbridge/testkit/macos';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { SimulatedMessages } from './messages-simulated.ts';
import { messagesContract, reactionContract } from './messages.contract.ts';
import { readingContract } from './reading.contract.ts';

const folder = mkdtempSync(join(tmpdir(), 'footbridge-'));
afterAll(() => rmSync(folder, { recursive: true }));

let made = 0;
const memories = new Map<string, string>();
function open(macos: string, dir = join(folder, String((made += 1)))): SimulatedMessages {
  const memory = { load: () => memories.get(dir), save: (value: string) => void memories.set(dir, value) };
  return new SimulatedMessages({ dir, macos, memory, clock: systemClock });
}

describe.each(['12.7', '14.8', '15.6', '26.1'])('the simulated Messages of macOS %s', (macos) => {
  messagesContract(() => open(macos));
  reactionContract(() => open(macos));
});

describe.each([13, 26] as const)('the simulated Messages on a real store of macOS %i', (version) => {
  const cleanup = createCleanup();
  let macos: SimulatedMacos;
  beforeAll(async () => {
    macos = await startSimulatedMacos({ macos: version });
    cleanup.add(() => macos.stop());
  });
  afterAll(() => cleanup.run());

  readingContract(
    () => macos,
    (memory) =>
      new SimulatedMessages({
        dir: join(macos.home, 'Library/Messages'),
        macos: `${version}.6`,
        memory,
        clock: systemClock,
      }),
  );
});

/** A store as the previous version wrote it, with one message. */
const PREVIOUS_STORE = `
  CREATE TABLE handle (ROWID INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, service TEXT NOT NULL,
    uncanonicalized_id TEXT, UNIQUE (id, service));
  CREATE TABLE chat (ROWID INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT UNIQUE NOT NULL, style INTEGER, state INTEGER,
    chat_identifier TEXT, service_name TEXT, room_name TEXT, display_name TEXT, is_filtered INTEGER DEFAULT 0);
  CREATE TABLE message (ROWID INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT UNIQUE NOT NULL, text TEXT,
    handle_id INTEGER DEFAULT 0, service TEXT, error INTEGER DEFAULT 0, date INTEGER, is_finished INTEGER DEFAULT 0,
    is_from_me INTEGER DEFAULT 0, item_type INTEGER DEFAULT 0);
  CREATE TABLE chat_message_join (chat_id INTEGER, message_id INTEGER, message_date INTEGER DEFAULT 0,
    PRIMARY KEY (chat_id, message_id));
  CREATE TABLE chat_handle_join (chat_id INTEGER, handle_id INTEGER, UNIQUE (chat_id, handle_id));
  CREATE TABLE attachment (ROWID INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT UNIQUE NOT NULL, filename TEXT);
  CREATE TABLE message_attachment_join (message_id INTEGER, attachment_id INTEGER, UNIQUE (message_id, attachment_id));
  CREATE TABLE simulated_setting (name TEXT PRIMARY KEY, value TEXT NOT NULL);
  INSERT INTO handle (id, service) VALUES ('+15550100001', 'iMessage');
  INSERT INTO chat (guid, style, chat_identifier, service_name) VALUES ('any;-;+15550100001', 45, '+15550100001', 'iMessage');
  INSERT INTO chat_handle_join VALUES (1, 1);
  INSERT INTO message (guid, text, handle_id, service, date) VALUES ('A', 'Hello', 1, 'iMessage', 790000000000000000);
  INSERT INTO chat_message_join VALUES (1, 1, 790000000000000000);
`;

describe('the simulation', () => {
  const ANNA = '+15550100001';

  it('keeps its chats and people over a restart', () => {
    const dir = join(folder, 'kept');
    const first = open('26.1', dir);
    const { guid, chatId } = first.people.say(ANNA, { text: 'Hello' });
    first.people.change('+15550100009', { imessage: false });
    const before = first.view();
    const generation = first.store.generation();
    first.close();
    const second = open('26.1', dir);
    expect(second.view()).toEqual(before);
    expect(second.store.generation()).toBe(generation);
    expect(second.store.rowByGuid(guid)?.chatId).toBe(chatId);
    second.close();
  });

  it('opens a store of the version before, whose tables had fewer columns', () => {
    const dir = join(folder, 'of-the-version-before');
    mkdirSync(dir);
    const old = new DatabaseSync(join(dir, 'chat.db'));
    old.exec(PREVIOUS_STORE);
    old.close();
    const simulation = open('26.1', dir);
    expect(simulation.people.say(ANNA, { text: 'Again' })).toMatchObject({ chatId: 2 ** 32 + 1 });
    expect(simulation.view().chats).toMatchObject([
      { recipients: [ANNA], messages: [{ text: 'Hello' }, { text: 'Again' }] },
    ]);
    expect(simulation.store.rowsAfter(0, 10).map(({ text }) => text)).toEqual(['Hello', 'Again']);
    simulation.close();
  });

  it('keeps only the newest row of a reaction', () => {
    const simulation = open('26.1');
    const { guid: targetGuid } = simulation.people.say(ANNA, { text: 'Hello' });
    const love = simulation.people.react(ANNA, { targetGuid, kind: 'classic', type: 'love', action: 'add' });
    const like = simulation.people.react(ANNA, { targetGuid, kind: 'classic', type: 'like', action: 'add' });
    expect(simulation.store.rowByGuid(love.guid)).toBeUndefined();
    expect(simulation.store.rowByGuid(like.guid)?.tapback?.type).toBe(2001);
    simulation.close();
  });

  it('rejects impossible actions', () => {
    const simulation = open('26.1');
    const { guid: targetGuid, chatId } = simulation.people.say(ANNA, { text: 'Hello' });
    const love = { targetGuid, kind: 'classic', type: 'love' } as const;
    expect(() => simulation.people.react(ANNA, { ...love, action: 'remove' })).toThrow('no such reaction');
    expect(() => simulation.people.react('+15550100002', { ...love, action: 'add' })).toThrow('not in chat');
    expect(() => simulation.people.react(ANNA, { ...love, targetGuid: 'X', action: 'add' })).toThrow(
      'no message',
    );
    expect(() => simulation.people.say(ANNA, {})).toThrow('nothing to say');
    expect(() => simulation.people.say(ANNA, { text: 'x', effect: 'magic' })).toThrow('no such effect');
    expect(() => simulation.people.say(ANNA, { text: 'x', replyTo: 'X' })).toThrow('no message');
    expect(() => simulation.people.say(ANNA, { text: 'x', chatId: 99 })).toThrow('no chat 99');
    expect(() => simulation.people.group([ANNA])).toThrow('at least two');
    expect(() => simulation.people.leave(ANNA, chatId)).toThrow('only groups');
    expect(() => simulation.people.edit('+15550100002', targetGuid, 'x')).toThrow('did not write');
    simulation.close();
  });

  it('applies a fault the given number of times', async () => {
    const simulation = open('26.1');
    simulation.change({ faults: [{ job: 'text', code: 'TIMEOUT', times: 2 }] });
    const destination = { to: 'person', handle: ANNA, service: 'iMessage' } as const;
    const results: string[] = [];
    for (let index = 0; index < 3; index += 1) {
      results.push((await simulation.send({ kind: 'text', text: 'Hi' }, destination)).state);
    }
    expect(results).toEqual(['failed', 'failed', 'delivered']);
    simulation.close();
  });

  it('has one chat per person and service on every macOS version', () => {
    const prefixes = ['15.6', '26.1'].map((macos) => {
      const simulation = open(macos);
      simulation.people.say(ANNA, { text: 'x' });
      simulation.people.say(ANNA, { text: 'x', service: 'SMS' });
      simulation.people.say(ANNA, { text: 'x', service: 'RCS' });
      const { chats } = simulation.view();
      simulation.close();
      return chats.map((chat) => chat.service);
    });
    expect(prefixes).toEqual([
      ['iMessage', 'SMS', 'RCS'],
      ['iMessage', 'SMS', 'RCS'],
    ]);
  });
});
