import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';

import { MACOS_VERSIONS, openChatDb } from '@footbridge/simulator/chat-db';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { ChatDb } from './chat-db.ts';
import { chatIdOf } from './chat-ids.ts';
import type { StoredRow } from './messages.ts';
import { seededRandom } from './mutated-bodies.fixture.ts';
import { insertInto, readChatDb } from './real-chat-db.fixture.ts';

const ANNA = '+15550100001';
const BERT = '+15550100002';
const EPOCH = Date.UTC(2001, 0, 1);
const NOW_NS = 779_490_370_623_827_968n;

const home = mkdtempSync(join(tmpdir(), 'footbridge-'));
const messages = join(home, 'Library/Messages');
mkdirSync(join(messages, 'Attachments'), { recursive: true });
afterAll(() => rmSync(home, { recursive: true }));

const body = (name: string): Buffer =>
  readFileSync(new URL(`../../../fixtures/bodies/${name}.bin`, import.meta.url));

describe.each(MACOS_VERSIONS)('chat.db of macOS %s', (macos) => {
  let db: DatabaseSync;
  let store: ChatDb;
  let made = 0;
  beforeEach(() => {
    db = openChatDb(':memory:', macos);
    store = readChatDb(db, { folders: { home, messages } });
  });
  afterEach(() => db.close());

  const insert = (table: string, values: Record<string, SQLInputValue>): number =>
    insertInto(db, table, values);

  function handle(id: string, service = 'iMessage', more: Record<string, SQLInputValue> = {}): number {
    const known = db.prepare('SELECT ROWID AS id FROM handle WHERE id = ? AND service = ?').get(id, service);
    return known === undefined ? insert('handle', { id, service, ...more }) : Number(known['id']);
  }

  function chat(members: readonly string[], more: Record<string, SQLInputValue> = {}): number {
    made += 1;
    const isGroup = members.length > 1;
    const rowid = insert('chat', {
      guid: `any;${isGroup ? '+' : '-'};${made}`,
      style: isGroup ? 43 : 45,
      chat_identifier: isGroup ? `chat${made}` : (members[0] ?? null),
      service_name: 'iMessage',
      ...more,
    });
    const service = typeof more['service_name'] === 'string' ? more['service_name'] : 'iMessage';
    for (const member of members)
      insert('chat_handle_join', { chat_id: rowid, handle_id: handle(member, service) });
    return rowid;
  }

  /** Inserts a message of Anna and returns it as the store reads it. */
  function message(values: Record<string, SQLInputValue>, chatRowid = chat([ANNA])): StoredRow {
    made += 1;
    const guid = `GUID-${made}`;
    const rowid = insert('message', {
      guid,
      handle_id: handle(ANNA),
      service: 'iMessage',
      date: NOW_NS,
      ...values,
    });
    insert('chat_message_join', { chat_id: chatRowid, message_id: rowid });
    return read(guid);
  }

  function attach(row: StoredRow, values: Record<string, SQLInputValue>): StoredRow {
    made += 1;
    const id = insert('attachment', {
      guid: `at_${made}`,
      original_guid: `at_${made}`,
      transfer_state: 5,
      ...values,
    });
    insert('message_attachment_join', { message_id: row.rowid, attachment_id: id });
    return read(row.guid);
  }

  function read(guid: string): StoredRow {
    const row = store.rowByGuid(guid);
    if (row === undefined) throw new Error('the row is not there');
    return row;
  }

  it('reads the body from attributedBody when text is NULL', () => {
    expect(message({ text: null, attributedBody: body('regular-text') })).toMatchObject({
      text: 'Haha yeah 😃',
      bodyState: 'read',
    });
    expect(message({ text: '', attributedBody: body('user-mention') }).text).toBe('foo Kunal foo');
  });

  it('marks a damaged, an unreadable and a missing body', () => {
    const whole = body('regular-text');
    expect(message({ attributedBody: whole.subarray(0, whole.byteLength - 40) })).toMatchObject({
      text: 'Haha yeah 😃',
      bodyState: 'recovered',
    });
    expect(message({ attributedBody: Buffer.from('nonsense') })).toMatchObject({
      text: '',
      bodyState: 'unreadable',
    });
    expect(message({})).toMatchObject({ text: '', bodyState: 'pending', unsent: false });
  });

  it('returns the parts of a body', () => {
    const { guid } = message({ attributedBody: body('two-parts') });
    expect(store.body(guid)?.parts).toHaveLength(2);
    expect(store.body('NOWHERE')).toBeUndefined();
  });

  it('reads the remaining parts of a message with unsent parts', () => {
    for (const name of ['leading_unsends', 'multiple_middle_adjacent_unsend', 'trailing_unsends']) {
      const { values, guids } = realRow(name);
      let row = message(values);
      for (const guid of guids) row = attach(row, { guid, filename: null });
      row = attach(row, { guid: `unsent ${name}`, filename: null });
      expect(row.unsent, name).toBe(false);
      expect(row.edited, name).toBe(true);
      expect(row.attachments.map((file) => file.guid).toSorted(), name).toEqual(guids.toSorted());
      expect(row.text !== '' || row.attachments.length > 0, name).toBe(true);
    }
  });

  it('recognises a message of which every part was unsent', () => {
    const { values } = realRow('leading_unsends');
    expect(message({ ...values, attributedBody: null })).toMatchObject({ unsent: true, text: '' });
    expect(message({ part_count: 0 })).toMatchObject({ unsent: true });
  });

  it('removes the suffix of a filtered sender', () => {
    const suffixed = (id: string, more: Record<string, SQLInputValue> = {}): string | undefined =>
      message({ handle_id: handle(id, 'SMS', more), service: 'SMS' }, chat([id], { service_name: 'SMS' }))
        .sender;
    expect(suffixed('227898(smsft_rm)', { uncanonicalized_id: '227898' })).toBe('227898');
    expect(suffixed('99999(smsft)')).toBe('99999');
    expect(suffixed('99999(smsfp)')).toBe('99999');
    expect(suffixed('+14155550100(filtered)')).toBe('+14155550100');
    expect(suffixed('(415) 555-0100')).toBe('(415) 555-0100');
  });

  it('takes the person of a direct chat as the sender of a row without a handle', () => {
    expect(message({ text: 'Hi', handle_id: 0 }).sender).toBe(ANNA);
    expect(message({ text: 'Hi', handle_id: 0 }, chat([ANNA, BERT])).sender).toBeUndefined();
    expect(message({ text: 'Hi', handle_id: 0, is_from_me: 1 }).sender).toBeUndefined();
  });

  it.each([
    ['nanoseconds', NOW_NS, EPOCH + 779_490_370_623],
    ['seconds', 700_000_000n, EPOCH + 700_000_000_000],
    ['zero', 0n, undefined],
    ['the largest integer', 2n ** 63n - 1n, undefined],
    ['NULL', null, undefined],
  ])('reads a date in %s', (_, date, sentAt) => {
    expect(message({ text: 'Hi', date }).sentAt).toBe(sentAt);
  });

  it('resolves the paths of attachments and refuses other files', () => {
    const path = join(messages, 'Attachments/photo.jpg');
    writeFileSync(path, 'photo');
    const file = (filename: string | null, more = {}): unknown =>
      attach(message({}), { filename, ...more }).attachments[0];
    expect(file('~/Library/Messages/Attachments/photo.jpg')).toMatchObject({ path, state: 'ready' });
    expect(file('Attachments/photo.jpg')).toMatchObject({ path, state: 'ready' });
    expect(file(path, { transfer_state: 3 })).toMatchObject({ state: 'waiting' });
    expect(file(null)).toMatchObject({ path: undefined, state: 'waiting' });
    expect(file('/etc/passwd')).toMatchObject({ state: 'refused' });
    expect(file(path, { uti: 'com.apple.coreaudio-format' })).toMatchObject({ mime: 'audio/x-caf' });
  });

  it('expects attachments whose rows are still missing', () => {
    const row = message({ cache_has_attachments: 1, text: '\uFFFC' });
    expect(row.expectsAttachments).toBe(true);
    expect(attach(row, { filename: null }).expectsAttachments).toBe(false);
  });

  it('reports a link and its preview once, without the data of the preview', () => {
    const chatRowid = chat([ANNA]);
    const text = message({ text: 'Look: https://example.com/a/' }, chatRowid);
    const balloon = { balloon_bundle_id: 'com.apple.messages.URLBalloonProvider' };
    const preview = message(
      { text: 'https://example.com/a', cache_has_attachments: 1, ...balloon },
      chatRowid,
    );
    attach(preview, { transfer_name: 'A.pluginPayloadAttachment' });
    attach(preview, { transfer_name: 'icon.png', hide_attachment: 1 });
    expect(read(preview.guid)).toMatchObject({ previewOf: text.guid, attachments: [] });
    expect(read(text.guid).previewOf).toBeUndefined();
    const alone = message({ text: 'https://example.com/b', ...balloon }, chatRowid);
    expect(alone).toMatchObject({ previewOf: undefined, text: 'https://example.com/b' });
    const other = message(
      { text: 'https://example.com/a', ...balloon, handle_id: handle(BERT) },
      chat([BERT]),
    );
    expect(other.previewOf).toBeUndefined();
  });

  it('marks messages from unknown senders and junk', () => {
    expect(message({ text: 'Hi' }).filtered).toBe(false);
    expect(message({ text: 'Hi', is_spam: 1 }).filtered).toBe(true);
    expect(message({ text: 'Hi' }, chat([ANNA], { is_filtered: 1 })).filtered).toBe(true);
  });

  it('knows its own addresses', () => {
    message(
      { text: 'Hi', account: 'P:+15550100077' },
      chat([ANNA], { account_login: 'E:me@example.com', last_addressed_handle: '+15550100099' }),
    );
    expect([...store.ownHandles()].sort()).toEqual(
      ['+15550100000', '+15550100077', '+15550100099', 'me@example.com'].sort(),
    );
  });

  it('F9 sees its own reaction to any part of a message', () => {
    const target = message({ attributedBody: body('two-parts') });
    const react = (raw: string, type: number): void => {
      message({ is_from_me: 1, associated_message_guid: raw, associated_message_type: type });
    };
    react(`p:1/${target.guid}`, 2000);
    expect(store.ownReaction(target.guid)).toEqual({ kind: 'classic', type: 'love' });
    expect(store.ownReaction(target.guid, 1)).toEqual({ kind: 'classic', type: 'love' });
    expect(store.ownReaction(target.guid, 0)).toBeUndefined();
    react(`p:1/${target.guid}`, 3000);
    react(`bp:${target.guid}`, 2001);
    expect(store.ownReaction(target.guid, 1)).toBeUndefined();
    expect(store.ownReaction(target.guid, 0)).toEqual({ kind: 'classic', type: 'like' });
  });

  describe('of several groups with the same members', () => {
    const id = (rowid: number): number => chatIdOf(store.generation(), rowid);

    it('finds the group with the newest message', () => {
      const [older, newer] = [chat([ANNA, BERT]), chat([ANNA, BERT])];
      message({ text: 'One' }, newer);
      expect(store.groupOf([BERT, ANNA], 'iMessage')).toMatchObject({ id: id(newer) });
      message({ text: 'Two' }, older);
      expect(store.groupOf([BERT, ANNA], 'iMessage')).toMatchObject({ id: id(older) });
    });

    it('prefers a group of the service', () => {
      const [sms, imessage] = [chat([ANNA, BERT], { service_name: 'SMS' }), chat([ANNA, BERT])];
      message({ text: 'One' }, imessage);
      message({ text: 'Two', service: 'SMS' }, sms);
      expect(store.groupOf([ANNA, BERT], 'iMessage')).toMatchObject({ id: id(imessage) });
      expect(store.groupOf([ANNA, BERT], 'SMS')).toMatchObject({ id: id(sms) });
    });

    it('does not choose between groups without messages', () => {
      chat([ANNA, BERT]);
      expect(store.groupOf([ANNA, BERT], 'iMessage')).toMatchObject({ isGroup: true });
      chat([ANNA, BERT]);
      expect(store.groupOf([ANNA, BERT], 'iMessage')).toBe('ambiguous');
      expect(store.groupOf([ANNA, '+15550100003'], 'iMessage')).toBeUndefined();
    });
  });

  it('finds the chat with a person by the service of its messages', () => {
    const imessage = chat([ANNA]);
    const sms = chat([ANNA], { service_name: 'SMS' });
    chat([ANNA, BERT]);
    const id = (rowid: number): number => chatIdOf(store.generation(), rowid);
    expect(store.directChat(ANNA, 'iMessage')?.id).toBe(id(imessage));
    expect(store.directChat(ANNA, 'SMS')?.id).toBe(id(sms));
    expect(store.directChat(BERT, 'iMessage')).toBeUndefined();
  });

  it('reads a store with columns removed and added at random', () => {
    const row = message({ text: 'Hi', cache_has_attachments: 0 });
    const random = seededRandom(macos);
    const indexed = new Set(['rowid', 'guid', 'text']);
    const columns = db
      .prepare("SELECT name FROM pragma_table_info('message')")
      .all()
      .map((column) => String(column['name']))
      .filter((name) => !indexed.has(name.toLowerCase()));
    for (const { name, type } of db
      .prepare("SELECT name, type FROM sqlite_schema WHERE type IN ('trigger', 'index') AND sql IS NOT NULL")
      .all()) {
      db.exec(`DROP ${String(type)} ${String(name)}`);
    }
    for (let count = 0; count < 30; count += 1) {
      const [column = ''] = columns.splice(random(columns.length), 1);
      db.exec(`ALTER TABLE message DROP COLUMN ${column}`);
    }
    for (let count = 0; count < 20; count += 1)
      db.exec(`ALTER TABLE message ADD COLUMN added_${count} INTEGER`);
    expect(read(row.guid)).toMatchObject({ guid: row.guid, text: 'Hi', chatId: row.chatId });
    expect(store.rowsAfter(0, 10)).toHaveLength(1);
    expect(store.ownHandles()).toContain('+15550100000');
    expect(store.groupOf([ANNA, BERT], 'iMessage')).toBeUndefined();
    expect(() => store.ownReaction(row.guid)).not.toThrow();
    expect(store.body(row.guid)).toBeUndefined();
  });
});

it('returns every service of a chat on macOS 26', () => {
  const db = openChatDb(':memory:', 26);
  const store = readChatDb(db);
  insertInto(db, 'handle', { id: ANNA, service: 'iMessage' });
  const chat = insertInto(db, 'chat', {
    guid: 'any;-;1',
    style: 45,
    chat_identifier: ANNA,
    service_name: 'iMessage',
  });
  insertInto(db, 'chat_handle_join', { chat_id: chat, handle_id: 1 });
  for (const service of ['iMessage', 'SMS', 'RCS']) {
    const rowid = insertInto(db, 'message', { guid: service, service, text: 'Hi', date: NOW_NS });
    // A trigger of macOS fills chat_service.
    insertInto(db, 'chat_message_join', { chat_id: chat, message_id: rowid });
  }
  const id = chatIdOf(1, chat);
  expect(store.chat(id)?.services.toSorted()).toEqual(['RCS', 'SMS', 'iMessage']);
  expect(store.directChat(ANNA, 'SMS')?.id).toBe(id);
  expect(store.rowByGuid('SMS')).toMatchObject({ service: 'SMS', chatId: id });
  db.close();
});

/** Returns a real row with unsent parts and the guids of the attachments that are left. */
function realRow(name: string): { values: Record<string, SQLInputValue>; guids: string[] } {
  const file = new URL(`../../../fixtures/rows/partial_${name}.json`, import.meta.url);
  const [row] = JSON.parse(readFileSync(file, 'utf8')) as [Record<string, unknown>];
  const bytes = (column: string): Buffer => {
    const url = String(row[column]);
    return Buffer.from(url.slice(url.indexOf(',') + 1), 'base64');
  };
  const attributedBody = bytes('attributedBody');
  const guids = attributedBody.toString('latin1').match(/at_\d+_[0-9A-F-]{36}/g) ?? [];
  return {
    values: {
      attributedBody,
      message_summary_info: bytes('message_summary_info'),
      date_edited: NOW_NS,
      part_count: Number(row['part_count']),
      cache_has_attachments: 1,
    },
    guids: [...new Set(guids)],
  };
}
