import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';

import type { MessageReceivedFrame } from '@footbridge/protocol/frames';
import { noFailpoints } from '@footbridge/runtime/failpoints';
import { createLog } from '@footbridge/runtime/log';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { until } from '@footbridge/testkit/until';
import { MACOS_VERSIONS, openChatDb } from '@footbridge/simulator/chat-db';
import type { MacosVersion } from '@footbridge/simulator/chat-db';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { Receiver } from '@footbridge/agent/flows/inbound/receive-messages';
import { openJournal } from '@footbridge/agent/journal/journal-sqlite';
import type { Journal } from '@footbridge/agent/journal/journal';
import { MacReader } from '@footbridge/agent/ports/messages/macos/mac-reader';
import { NO_SUSPECTS } from '@footbridge/agent/suspects/no-suspects.fixture';
import { storeDate } from '@footbridge/simulator/messages-store';
import { seededRandom } from '@footbridge/agent/ports/messages/mutated-bodies.fixture';
import { insertInto } from '@footbridge/agent/ports/messages/real-chat-db.fixture';

const ANNA = '+15550100001';
const cleanup = createCleanup();
afterEach(() => cleanup.run());

const body = (name: string): Buffer =>
  readFileSync(new URL(`../../packages/agent/fixtures/bodies/${name}.bin`, import.meta.url));

/** The receiver of the agent over a store with a real schema, which the test writes as Messages does. */
class Inbox {
  readonly clock = new FakeClock(Date.UTC(2026, 10, 1));
  readonly uploaded: string[] = [];
  readonly logs: string[] = [];
  readonly folder: string;
  readonly journal: Journal = openJournal(':memory:');
  readonly #macos: MacosVersion;
  readonly #forwardFiltered: boolean;
  #db: DatabaseSync | undefined;
  #reader: MacReader | undefined;
  #receiver: Receiver | undefined;
  #made = 0;

  constructor(home: string, macos: MacosVersion, forwardFiltered = true) {
    this.folder = join(home, 'Library/Messages');
    mkdirSync(join(this.folder, 'Attachments'), { recursive: true });
    this.#macos = macos;
    this.#forwardFiltered = forwardFiltered;
  }

  createStore(): this {
    this.#db = openChatDb(join(this.folder, 'chat.db'), this.#macos);
    this.insert('handle', { id: ANNA, service: 'iMessage' });
    this.insert('chat', {
      guid: 'any;-;1',
      style: 45,
      chat_identifier: ANNA,
      service_name: 'iMessage',
      account_login: 'E:me@example.com',
    });
    this.insert('chat_handle_join', { chat_id: 1, handle_id: 1 });
    return this;
  }

  removeStore(): void {
    this.#db?.close();
    for (const suffix of ['', '-wal', '-shm']) rmSync(join(this.folder, `chat.db${suffix}`), { force: true });
  }

  async start(): Promise<this> {
    const folders = { home: join(this.folder, '../..'), messages: this.folder };
    const memory = {
      load: () => this.journal.note('message-store'),
      save: (value: string) => this.journal.setNote('message-store', value),
    };
    this.#reader = new MacReader({ folders, memory, clock: this.clock });
    this.#receiver = new Receiver({
      messages: this.#reader,
      journal: this.journal,
      suspects: NO_SUSPECTS,
      uploads: {
        upload: ({ path, name }) => {
          this.uploaded.push(path);
          return Promise.resolve({ ok: true, url: `https://files.example/${name}` });
        },
      },
      clock: this.clock,
      log: createLog('debug', { destination: { write: (line) => void this.logs.push(line) } }),
      failpoint: noFailpoints,
      settings: {
        pollMs: 2_000,
        chatJoinTimeoutMs: 5_000,
        orphanMs: 600_000,
        attachmentWaitMs: 120_000,
        bodyWaitMs: 500,
        previewWaitMs: 2_000,
        forwardFiltered: this.#forwardFiltered,
        maxAgeMs: 72 * 3600_000,
        retryBaseMs: 500,
        retryCapMs: 30_000,
      },
      isCanary: () => false,
      mirrors: () => false,
      onFrames: () => {},
    });
    this.#receiver.start();
    await this.pass(1);
    return this;
  }

  async stop(): Promise<void> {
    await this.#receiver?.stop();
    this.#reader?.close();
    if (this.#db?.isOpen === true) this.#db.close();
  }

  /** Stops the agent and starts it again with the same journal. */
  async restart(): Promise<void> {
    await this.#receiver?.stop();
    this.#reader?.close();
    await this.start();
  }

  /** Moves the time of the agent. */
  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms);
  }

  /** Resolves as soon as the agent has read a row and waits for the rest of it. */
  async noticed(): Promise<void> {
    await until(async () => {
      await this.pass(20);
      return this.journal.inbox.pending().length > 0;
    });
  }

  insert(table: string, values: Record<string, SQLInputValue>): number {
    if (this.#db === undefined) throw new Error('there is no store');
    return insertInto(this.#db, table, values);
  }

  run(sql: string): void {
    this.#db?.exec(sql);
  }

  /** Inserts a message of Anna without its chat. */
  row(values: Record<string, SQLInputValue>): number {
    this.#made += 1;
    return this.insert('message', {
      guid: `GUID-${this.#made}-${this.clock.now()}`,
      handle_id: 1,
      service: 'iMessage',
      date: storeDate(this.clock.now()),
      ...values,
    });
  }

  join(rowid: number, chat = 1): void {
    this.insert('chat_message_join', { chat_id: chat, message_id: rowid });
  }

  say(values: Record<string, SQLInputValue>, chat = 1): number {
    const rowid = this.row(values);
    this.join(rowid, chat);
    return rowid;
  }

  /** Adds a person with a direct chat. */
  person(id: string): { handle: number; chat: number } {
    const handle = this.insert('handle', { id, service: 'iMessage' });
    return { handle, chat: this.#chat(45, [handle]) };
  }

  group(handles: readonly number[]): number {
    return this.#chat(43, handles);
  }

  attach(rowid: number, values: Record<string, SQLInputValue>): void {
    this.#made += 1;
    const guid = `at_${this.#made}`;
    const id = this.insert('attachment', { guid, original_guid: guid, transfer_state: 5, ...values });
    this.insert('message_attachment_join', { message_id: rowid, attachment_id: id });
  }

  frames(): MessageReceivedFrame[] {
    return this.journal.outbox
      .unacknowledged(0, 100_000)
      .map(({ text }) => JSON.parse(text) as MessageReceivedFrame);
  }

  texts(): string[] {
    return this.frames().map((frame) => frame.text);
  }

  /** The texts of one chat of the first store. */
  textsIn(chat: number): string[] {
    return this.frames()
      .filter((frame) => frame.chat.id % 2 ** 32 === chat)
      .map((frame) => frame.text);
  }

  #chat(style: number, handles: readonly number[]): number {
    this.#made += 1;
    const chat = this.insert('chat', {
      guid: `any;${this.#made}`,
      style,
      chat_identifier: `chat${this.#made}`,
      service_name: 'iMessage',
    });
    for (const handle of handles) this.insert('chat_handle_join', { chat_id: chat, handle_id: handle });
    return chat;
  }
}

const UNREADABLE = '[This message could not be read on the Mac.]';

describe.each(MACOS_VERSIONS)('inbound messages from a store of macOS %s', (macos) => {
  let inbox: Inbox;
  let home: string;
  beforeEach(async () => {
    home = await tempDir(cleanup);
    inbox = await new Inbox(home, macos).createStore().start();
    cleanup.add(() => inbox.stop());
  });

  it('I3 have the text of their body and are never empty', async () => {
    inbox.say({ text: 'Plain' });
    inbox.say({ attributedBody: body('regular-text') });
    inbox.say({ attributedBody: body('two-parts') });
    inbox.say({ attributedBody: Buffer.from('nonsense') });
    inbox.say({ balloon_bundle_id: 'com.apple.DigitalTouchBalloonProvider', text: '\uFFFD' });
    inbox.say({});
    await inbox.pass(3_000);
    expect(inbox.texts()).toEqual([
      'Plain',
      'Haha yeah 😃',
      'Check this out!Check this out!',
      UNREADABLE,
      UNREADABLE,
      UNREADABLE,
    ]);
  });

  it('I6 wait for their chat and their body', async () => {
    const late = inbox.row({ text: 'Joined later' });
    inbox.say({ text: 'Behind it' });
    await inbox.pass(3_000);
    expect(inbox.texts()).toEqual([]);
    inbox.join(late);
    await inbox.pass(1_000);
    const bodiless = inbox.say({});
    await inbox.noticed();
    inbox.run(`UPDATE message SET text = 'Body later' WHERE ROWID = ${bodiless}`);
    await inbox.pass(1_000);
    expect(inbox.texts()).toEqual(['Joined later', 'Behind it', 'Body later']);
  });

  it('I8 wait for their files, and other files of the Mac are never uploaded', async () => {
    const photo = inbox.say({ text: '\uFFFC', cache_has_attachments: 1 });
    inbox.say({ text: 'Behind it' });
    await inbox.pass(3_000);
    inbox.attach(photo, {
      filename: '~/Library/Messages/Attachments/photo.jpg',
      transfer_name: 'photo.jpg',
    });
    await inbox.pass(3_000);
    expect(inbox.frames()).toEqual([]);
    const path = join(inbox.folder, 'Attachments/photo.jpg');
    writeFileSync(path, 'photo');
    await inbox.pass(1_000);
    expect(inbox.frames()).toMatchObject([
      { text: '', attachments: ['https://files.example/photo.jpg'] },
      { text: 'Behind it' },
    ]);
    writeFileSync(join(home, 'secret.txt'), 'secret');
    for (const filename of ['~/secret.txt', '/etc/passwd', '../../secret.txt']) {
      inbox.attach(inbox.say({ text: '\uFFFC', cache_has_attachments: 1 }), { filename });
    }
    await inbox.pass(3_000);
    expect(inbox.texts().slice(2)).toEqual([UNREADABLE, UNREADABLE, UNREADABLE]);
    expect(inbox.uploaded).toEqual([path]);
  });

  it('are one message for a link and its preview, in either order', async () => {
    const balloon = { balloon_bundle_id: 'com.apple.messages.URLBalloonProvider', cache_has_attachments: 1 };
    inbox.say({ text: 'Look: https://example.com/a' });
    inbox.attach(inbox.say({ text: 'https://example.com/a', ...balloon }), {
      transfer_name: 'A.pluginPayloadAttachment',
    });
    await inbox.pass(5_000);
    inbox.say({ text: 'https://example.com/b', ...balloon });
    await inbox.noticed();
    inbox.say({ text: 'And https://example.com/b' });
    await inbox.pass(5_000);
    inbox.say({ text: 'https://example.com/c', ...balloon });
    await inbox.pass(5_000);
    expect(inbox.texts()).toEqual([
      'Look: https://example.com/a',
      'And https://example.com/b',
      'https://example.com/c',
    ]);
    expect(inbox.frames().flatMap((frame) => frame.attachments)).toEqual([]);
  });

  it('are one message for a link and its preview, even with many messages of other chats between them', async () => {
    const bert = inbox.person('+15550100002');
    inbox.say({ text: 'Look: https://example.com/a' });
    for (let index = 0; index < 50; index += 1)
      inbox.say({ text: 'Between', handle_id: bert.handle }, bert.chat);
    inbox.say({
      text: 'https://example.com/a',
      balloon_bundle_id: 'com.apple.messages.URLBalloonProvider',
    });
    await inbox.pass(5_000);
    expect(inbox.textsIn(1)).toEqual(['Look: https://example.com/a']);
  });

  it('M11 that are joined to two chats belong to the chat of their sender', async () => {
    const bert = inbox.person('+15550100002');
    const rowid = inbox.say({ text: 'From Bert', handle_id: bert.handle });
    inbox.join(rowid, bert.chat);
    await inbox.pass(3_000);
    expect(inbox.frames()).toMatchObject([{ chat: { recipients: ['+15550100002'] } }]);
    expect(inbox.textsIn(bert.chat)).toEqual(['From Bert']);
  });

  it('I8 wait for their body and for each of their files, whichever comes first', async () => {
    const attach = (rowid: number, name: string): void => {
      writeFileSync(join(inbox.folder, `Attachments/${name}`), name);
      inbox.attach(rowid, { filename: `~/Library/Messages/Attachments/${name}`, transfer_name: name });
    };
    const bodiless = inbox.say({ cache_has_attachments: 1 });
    attach(bodiless, 'early.jpg');
    const pair = inbox.say({ text: '\uFFFC\uFFFCTwo', cache_has_attachments: 1 });
    attach(pair, 'one.jpg');
    await inbox.noticed();
    expect(inbox.frames()).toEqual([]);
    inbox.run(`UPDATE message SET text = '\uFFFCLook' WHERE ROWID = ${bodiless}`);
    await inbox.pass(1_000);
    expect(inbox.texts()).toEqual(['Look']);
    attach(pair, 'two.jpg');
    await inbox.pass(1_000);
    expect(inbox.frames().map(({ attachments }) => attachments.length)).toEqual([1, 2]);
  });

  it('I6 from before the agent first ran are history, also when a rebuilt store gets them one by one', async () => {
    inbox.removeStore();
    inbox.createStore();
    await inbox.pass(3_000);
    inbox.say({ text: 'History', date: storeDate(inbox.clock.now() - 3600_000) });
    inbox.say({ text: 'New' });
    await inbox.pass(3_000);
    expect(inbox.texts()).toEqual(['New']);
  });

  it('exclude messages that the owner sent from any own address', async () => {
    inbox.insert('handle', { id: 'me@example.com', service: 'iMessage' });
    inbox.say({ text: 'To myself', is_from_me: 1 });
    inbox.say({ text: 'To myself', handle_id: 2 });
    inbox.say({ text: 'From Anna', handle_id: 0 });
    await inbox.pass(3_000);
    expect(inbox.frames()).toMatchObject([{ text: 'From Anna', sender: ANNA }]);
  });

  it('of a group without a sender are skipped, and the log says so', async () => {
    inbox.run("UPDATE chat SET style = 43, chat_identifier = 'chat1'");
    inbox.say({ text: 'Without a handle', handle_id: 0 });
    inbox.say({ text: 'From Anna' });
    await inbox.pass(3_000);
    expect(inbox.texts()).toEqual(['From Anna']);
    expect(inbox.logs.filter((line) => line.includes('inbound.skipped_without_sender'))).toHaveLength(1);
  });

  it('have the time of their arrival when the row has no valid date', async () => {
    inbox.say({ text: 'Zero', date: 0 });
    inbox.say({ text: 'Largest', date: 2n ** 63n - 1n });
    await inbox.pass(3_000);
    expect(inbox.texts()).toEqual(['Zero', 'Largest']);
    for (const { sentAt } of inbox.frames())
      expect(Math.abs(Date.parse(sentAt) - inbox.clock.now())).toBeLessThan(5_000);
  });

  it('I5 that wait for their chat delay only the chats of their sender', async () => {
    const bert = inbox.person('+15550100002');
    const group = inbox.group([1, bert.handle]);
    const late = inbox.row({ text: 'Late in the group', handle_id: bert.handle });
    inbox.say({ text: 'Behind it' }, group);
    inbox.say({ text: 'Direct', handle_id: bert.handle }, bert.chat);
    inbox.say({ text: 'From Anna' });
    await inbox.pass(3_000);
    expect(inbox.texts()).toEqual(['From Anna']);
    inbox.join(late, group);
    await inbox.pass(1_000);
    expect(inbox.texts().toSorted()).toEqual(['Behind it', 'Direct', 'From Anna', 'Late in the group']);
    expect(inbox.textsIn(group)).toEqual(['Late in the group', 'Behind it']);
  });

  it('I6 are not lost when their chat comes late, also without a handle, or a minute late', async () => {
    const late = inbox.row({ text: 'Without a handle', handle_id: 0 });
    const later = inbox.row({ text: 'A minute late' });
    await inbox.pass(2_000);
    inbox.join(late);
    await inbox.pass(1_000);
    expect(inbox.frames()).toMatchObject([{ text: 'Without a handle', sender: ANNA }]);
    await inbox.pass(4_000);
    inbox.say({ text: 'Not held up any more' });
    await inbox.pass(60_000);
    inbox.join(later);
    await inbox.pass(1_000);
    expect(inbox.texts()).toEqual(['Without a handle', 'Not held up any more', 'A minute late']);
  });

  it('are skipped when they belong to no chat for ten minutes, and the log says so', async () => {
    inbox.row({ text: 'Orphan' });
    await inbox.pass(601_000);
    expect(inbox.texts()).toEqual([]);
    expect(inbox.journal.inbox.pending()).toEqual([]);
    expect(inbox.logs.filter((line) => line.includes('inbound.skipped_without_chat'))).toHaveLength(1);
  });

  it('I6 are not lost in a store that replaced the first one before the agent noticed it', async () => {
    inbox.say({ guid: 'SEEN', text: 'Seen' });
    await inbox.pass(3_000);
    inbox.removeStore();
    inbox.createStore();
    inbox.say({ guid: 'HISTORY', text: 'History', date: storeDate(inbox.clock.now() - 3600_000) });
    inbox.say({ guid: 'SEEN', text: 'Seen' });
    inbox.say({ text: 'Mine', is_from_me: 1 });
    const late = inbox.row({ text: 'New' });
    inbox.say({ text: 'Newer' });
    await inbox.pass(3_000);
    inbox.join(late);
    await inbox.pass(3_000);
    expect(inbox.texts()).toEqual(['Seen', 'New', 'Newer']);
  });

  it('I6 are not lost without a valid date in a store that replaced the first one', async () => {
    inbox.removeStore();
    inbox.createStore();
    inbox.say({ text: 'History without a date', date: 0 });
    inbox.say({ text: 'History', date: storeDate(inbox.clock.now() - 3600_000) });
    inbox.say({ text: 'Zero', date: 0 });
    inbox.say({ text: 'New' });
    inbox.say({ text: 'Largest', date: 2n ** 63n - 1n });
    await inbox.pass(3_000);
    expect(inbox.texts()).toEqual(['Zero', 'New', 'Largest']);
  });

  it('I6 are sent as they were read when a rebuilt store does not contain them', async () => {
    inbox.say({ text: 'Look\uFFFC', cache_has_attachments: 1 });
    inbox.say({ text: 'Behind it' });
    await inbox.pass(3_000);
    inbox.removeStore();
    inbox.createStore();
    await inbox.pass(3_000);
    inbox.say({ text: 'New store' });
    await inbox.pass(10_000);
    // They waited together, not one after another.
    expect(inbox.texts()).toEqual(['Look', 'Behind it', 'New store']);
  });

  it('exclude the copies of messages to an own address', async () => {
    inbox.say({ text: 'To myself', destination_caller_id: ANNA });
    inbox.say({ text: 'From Anna', destination_caller_id: '+15550100000' });
    await inbox.pass(3_000);
    expect(inbox.texts()).toEqual(['From Anna']);
  });

  it('M11 start at the newest row of a store that replaced the first one', async () => {
    inbox.say({ text: 'Old store' });
    await inbox.pass(3_000);
    inbox.removeStore();
    inbox.createStore();
    const before = storeDate(inbox.clock.now() - 3600_000);
    for (let index = 0; index < 5; index += 1) inbox.say({ text: `History ${index}`, date: before });
    await inbox.pass(3_000);
    inbox.say({ text: 'New store' });
    await inbox.pass(3_000);
    expect(inbox.texts()).toEqual(['Old store', 'New store']);
    const [first, second] = inbox.frames().map((frame) => frame.chat.id);
    expect(second).not.toBe(first);
    expect(inbox.journal.note('store')).toBe('replaced');
  });

  it('I6 are not lost when a store was replaced while they waited', async () => {
    inbox.say({ guid: 'WAITS', text: 'Look\uFFFC', cache_has_attachments: 1 });
    await inbox.pass(3_000);
    inbox.removeStore();
    inbox.createStore();
    await inbox.pass(3_000);
    inbox.say({ guid: 'WAITS', text: 'Look' });
    await inbox.pass(3_000);
    expect(inbox.texts()).toEqual(['Look']);
  });

  it('are read as soon as an absent store appears, and the problem is logged once', async () => {
    inbox.removeStore();
    await inbox.pass(20_000);
    expect(inbox.journal.note('store')).toBe('absent');
    inbox.createStore();
    await inbox.pass(3_000);
    inbox.say({ text: 'Back' });
    await inbox.pass(3_000);
    expect(inbox.texts()).toEqual(['Back']);
    expect(inbox.logs.filter((line) => line.includes('inbound.store_not_readable'))).toHaveLength(1);
  });
});

it('I6 many late rows, restarts, checkpoints and replaced stores lose, repeat, empty and reorder no message', async () => {
  const inbox = await new Inbox(await tempDir(cleanup), 26).createStore().start();
  cleanup.add(() => inbox.stop());
  const random = seededRandom(42);
  const expected: string[] = [];
  const balloon = { balloon_bundle_id: 'com.apple.messages.URLBalloonProvider' };
  const kinds: readonly ((text: string) => Promise<void>)[] = [
    async (text) => void inbox.say({ text }),
    async (text) => {
      const rowid = inbox.row({ text });
      await inbox.pass(random(4_000));
      inbox.join(rowid);
    },
    async (text) => {
      const rowid = inbox.say({});
      await inbox.noticed();
      inbox.run(`UPDATE message SET text = '${text}' WHERE ROWID = ${rowid}`);
    },
    async (text) => {
      const rowid = inbox.say({ text: `${text}\uFFFC`, cache_has_attachments: 1 });
      await inbox.pass(random(30_000));
      writeFileSync(join(inbox.folder, `Attachments/${rowid}.txt`), text);
      inbox.attach(rowid, { filename: `~/Library/Messages/Attachments/${rowid}.txt` });
    },
    async (text) => {
      inbox.say({ text });
      await inbox.pass(random(1_000));
      inbox.say({ text: /https\S+/.exec(text)?.[0] ?? text, ...balloon });
    },
    async (text) => {
      inbox.say({ text });
      inbox.say({ text: 'Mine', is_from_me: 1 });
      inbox.say({ item_type: 1 });
    },
  ];
  for (let index = 1; index <= 180; index += 1) {
    const text = `Message ${index} https://example.com/${index}`;
    expected.push(text);
    await kinds[random(kinds.length)]?.(text);
    await inbox.pass(random(1_500));
    if (index % 7 === 0) inbox.run('PRAGMA wal_checkpoint(TRUNCATE)');
    if (index % 30 === 0) await inbox.restart();
    if (index % 60 === 0) {
      await inbox.pass(130_000);
      inbox.removeStore();
      inbox.createStore();
      await inbox.pass(3_000);
    }
  }
  await inbox.pass(130_000);
  expect(inbox.texts()).toEqual(expected);
});

it.each([1, 2, 3])(
  'I6 from a writer with other habits (seed %i) none is lost, repeated, empty or out of order',
  async (seed) => {
    const inbox = await new Inbox(await tempDir(cleanup), 26).createStore().start();
    cleanup.add(() => inbox.stop());
    const random = seededRandom(seed);
    const expected: string[] = [];
    let written = 0;
    const next = (...links: string[]): string => {
      const text = [`Message ${(written += 1)}`, ...links].join(' ');
      expected.push(text);
      return text;
    };
    const habits: readonly (() => Promise<void> | void)[] = [
      /** More messages in one transaction than the agent reads at once. */
      () => {
        inbox.run('BEGIN');
        for (let count = random(250); count >= 0; count -= 1) inbox.say({ text: next() });
        inbox.run('COMMIT');
      },
      /** The body in two updates, and the chat between them. */
      async () => {
        const text = next();
        const rowid = inbox.row({ part_count: 1 });
        await inbox.noticed();
        inbox.run(`UPDATE message SET cache_roomnames = 'x' WHERE ROWID = ${rowid}`);
        inbox.join(rowid);
        await inbox.pass(random(300));
        inbox.run(`UPDATE message SET text = '${text}' WHERE ROWID = ${rowid}`);
      },
      /** The newest messages are deleted as soon as they were passed on, and their row ids are not used again. */
      async () => {
        inbox.say({ text: next() });
        await inbox.pass(3_000);
        inbox.run('DELETE FROM message WHERE ROWID > (SELECT max(ROWID) - 3 FROM message)');
      },
      () => inbox.run('VACUUM'),
      () => inbox.run(`PRAGMA wal_checkpoint(${['PASSIVE', 'FULL', 'RESTART', 'TRUNCATE'][random(4)]})`),
      /** A link whose preview never comes. */
      () => void inbox.say({ text: next('https://example.com/1') }),
      () => inbox.restart(),
    ];
    for (let step = 0; step < 60; step += 1) {
      await habits[random(habits.length)]?.();
      await inbox.pass(random(3_000));
    }
    await inbox.pass(15_000);
    expect(inbox.texts()).toEqual(expected);
  },
);

it.each([
  [true, ['Spam', 'Unknown sender', 'Anna']],
  [false, ['Anna']],
])('messages that Messages filtered are reported: %s', async (forwardFiltered, texts) => {
  const inbox = await new Inbox(await tempDir(cleanup), 26, forwardFiltered).createStore().start();
  cleanup.add(() => inbox.stop());
  inbox.say({ text: 'Spam', is_spam: 1 });
  inbox.run('UPDATE chat SET is_filtered = 1');
  inbox.say({ text: 'Unknown sender' });
  await inbox.pass(3_000);
  inbox.run('UPDATE chat SET is_filtered = 0');
  inbox.say({ text: 'Anna' });
  await inbox.pass(3_000);
  expect(inbox.texts()).toEqual(texts);
});
