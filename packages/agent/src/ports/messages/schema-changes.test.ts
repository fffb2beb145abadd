import { readFileSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';

import { MACOS_VERSIONS, openChatDb } from '@footbridge/simulator/chat-db';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { insertInto, readChatDb } from './real-chat-db.fixture.ts';
import type { ChatDb } from './chat-db.ts';

const ANNA = '+15550100001';
const BERT = '+15550100002';
const SHORT_CODE = '227898(smsft_rm)';
const DATE = 779_490_370_623_827_968n;
const REMOVED = 30;
const ADDED = 20;
const TABLES = ['message', 'attachment', 'chat', 'handle', 'chat_message_join'] as const;

const body = readFileSync(new URL('../../../fixtures/bodies/two-parts.bin', import.meta.url));

/** Every kind of row that the reader distinguishes, with each column set that it reads. */
function fill(db: DatabaseSync): void {
  for (const id of [ANNA, BERT]) insertInto(db, 'handle', { id, service: 'iMessage' });
  insertInto(db, 'handle', { id: SHORT_CODE, service: 'SMS', uncanonicalized_id: '227898' });
  const chat = (guid: string, style: number, members: readonly number[]): number => {
    const identifier = style === 45 ? ANNA : 'chat1';
    const chatId = insertInto(db, 'chat', {
      guid,
      style,
      chat_identifier: identifier,
      service_name: 'iMessage',
      account_login: 'E:me@example.com',
      is_filtered: 0,
    });
    for (const member of members) insertInto(db, 'chat_handle_join', { chat_id: chatId, handle_id: member });
    return chatId;
  };
  const direct = chat('any;-;1', 45, [1]);
  const group = chat('any;+;2', 43, [1, 2]);
  const rows = [
    {
      text: 'Plain',
      handle_id: 1,
      service: 'SMS',
      expressive_send_style_id: 'com.apple.MobileSMS.expressivesend.impact',
    },
    { attributedBody: body, handle_id: 2, thread_originator_guid: 'GUID-0' },
    { text: 'Short code', handle_id: 3, is_spam: 1 },
    { text: 'Mine', is_from_me: 1, is_sent: 1, is_finished: 1, error: 22 },
    { text: 'Loved', handle_id: 1, associated_message_guid: 'p:0/GUID-0', associated_message_type: 2000 },
    { text: 'Mine too', is_from_me: 1, associated_message_guid: 'p:1/GUID-1', associated_message_type: 2001 },
    { text: '\uFFFC', handle_id: 1, cache_has_attachments: 1, is_audio_message: 1 },
    { text: 'Event', handle_id: 1, item_type: 1 },
    {
      text: 'https://example.com/a',
      handle_id: 1,
      balloon_bundle_id: 'com.apple.messages.URLBalloonProvider',
    },
    { text: 'Echo', handle_id: 1, destination_caller_id: ANNA },
    { handle_id: 1, part_count: 0, date_edited: DATE },
  ];
  for (const [index, values] of rows.entries()) {
    const date = DATE + BigInt(index) * 1_000_000_000n;
    const rowid = insertInto(db, 'message', { guid: `GUID-${index}`, date, service: 'iMessage', ...values });
    insertInto(db, 'chat_message_join', { chat_id: index % 2 === 0 ? direct : group, message_id: rowid });
  }
  const file = insertInto(db, 'attachment', {
    guid: 'at_0',
    original_guid: 'at_0',
    filename: '~/Library/Messages/Attachments/a.caf',
    uti: 'com.apple.coreaudio-format',
    transfer_name: 'Audio Message.caf',
    transfer_state: 5,
    is_sticker: 1,
    hide_attachment: 0,
  });
  insertInto(db, 'message_attachment_join', { message_id: 7, attachment_id: file });
}

/** The columns behind each result. A result must stay the same while none of them is removed. */
const CONTENT = [
  'message.text',
  'message.attributedBody',
  'message.message_summary_info',
  'message.date_edited',
  'message.part_count',
  'message.is_audio_message',
  'message.cache_has_attachments',
  'message.balloon_bundle_id',
  'message.associated_message_type',
  'attachment.filename',
  'attachment.transfer_name',
  'attachment.transfer_state',
  'attachment.hide_attachment',
];
const SENDER = [
  'message.handle_id',
  'message.is_from_me',
  'handle.uncanonicalized_id',
  'chat.style',
  'chat.chat_identifier',
];
const TAPBACK = ['associated_message_guid', 'associated_message_type', 'associated_message_emoji'].map(
  (name) => `message.${name}`,
);
const CHAT = ['chat.style', 'chat.chat_identifier', 'chat.service_name', 'handle.uncanonicalized_id'];

const DEPENDS_ON: Readonly<Record<string, readonly string[]>> = {
  rowid: [],
  guid: [],
  chatId: ['message.handle_id'],
  fromMe: ['message.is_from_me'],
  sender: SENDER,
  isEcho: [...SENDER, 'message.destination_caller_id'],
  service: ['message.service'],
  text: CONTENT,
  bodyState: CONTENT,
  transcript: CONTENT,
  sentAt: ['message.date'],
  isMessage: ['message.item_type'],
  unsent: CONTENT,
  edited: ['message.date_edited'],
  filtered: ['message.is_spam', 'chat.is_filtered', 'message.handle_id'],
  tapback: TAPBACK,
  effect: ['message.expressive_send_style_id'],
  replyTo: ['message.thread_originator_guid'],
  isVoice: ['message.is_audio_message'],
  balloon: ['message.balloon_bundle_id'],
  previewOf: [...CONTENT, ...SENDER, ...TAPBACK, 'message.date', 'message.item_type'],
  expectsAttachments: CONTENT,
  attachments: [
    ...CONTENT,
    ...['mime_type', 'uti', 'is_sticker', 'emoji_image_short_description'].map(
      (name) => `attachment.${name}`,
    ),
  ],
  'chat 1': CHAT,
  'chat 2': CHAT,
  group: CHAT,
  direct: CHAT,
  history: [...CHAT, 'message.item_type'],
  'own handles': ['chat.account_login', 'chat.last_addressed_handle', 'message.account'],
  'own reaction': [...TAPBACK, 'message.is_from_me', 'message.date'],
  'send state': ['message.is_sent', 'message.is_delivered', 'message.is_finished', 'message.error'],
  body: ['message.attributedBody'],
  'guids since': ['message.date', 'message.is_from_me', 'message.item_type'],
};

/** Reads everything. Returns the results by name. */
function readAll(store: ChatDb): Map<string, unknown> {
  const results = new Map<string, unknown>();
  for (const row of store.rowsAfter(0, 100))
    for (const [field, value] of Object.entries(row)) results.set(`${row.guid} ${field}`, value);
  results.set('chat 1', store.chat(2 ** 32 + 1));
  results.set('chat 2', store.chat(2 ** 32 + 2));
  results.set('group', store.groupOf([ANNA, BERT], 'iMessage'));
  results.set('direct', store.directChat(ANNA, 'iMessage'));
  results.set(
    'history',
    store.history(ANNA, 10).map(({ guid }) => guid),
  );
  results.set('own handles', store.ownHandles());
  results.set('own reaction', store.ownReaction('GUID-1', 1));
  results.set('send state', store.sendState('GUID-3'));
  results.set('body', store.body('GUID-1'));
  results.set('guids since', store.guidsSince(Date.UTC(2020, 0, 1)));
  return results;
}

function columnsOf(db: DatabaseSync): { table: string; column: string }[] {
  return TABLES.flatMap((table) => {
    // SQLite drops neither a primary key nor a unique column.
    const keys = db
      .prepare(
        `SELECT c.name FROM pragma_index_list(?) i, pragma_index_info(i.name) c WHERE i.origin IN ('u', 'pk')
         UNION SELECT name FROM pragma_table_info(?) WHERE pk > 0`,
      )
      .all(table, table);
    const isKey = new Set(keys.map((row) => String(row['name'])));
    return db
      .prepare('SELECT name FROM pragma_table_info(?)')
      .all(table)
      .map((row) => ({ table, column: String(row['name']) }))
      .filter(({ column }) => !isKey.has(column));
  });
}

/** Triggers and indexes name columns, and would keep them from being dropped. */
function dropTriggersAndIndexes(db: DatabaseSync): void {
  const found = db
    .prepare("SELECT name, type FROM sqlite_schema WHERE type IN ('trigger', 'index') AND sql IS NOT NULL")
    .all();
  for (const { name, type } of found) db.exec(`DROP ${String(type)} ${String(name)}`);
}

describe.each(MACOS_VERSIONS)('a store of macOS %s', (macos) => {
  const change = fc.record({
    removed: fc.array(fc.nat(), { minLength: REMOVED, maxLength: REMOVED }),
    added: fc.array(
      fc.record({
        table: fc.constantFrom(...TABLES),
        type: fc.constantFrom('INTEGER DEFAULT 7', "TEXT DEFAULT 'new'", 'BLOB', 'REAL'),
      }),
      { minLength: ADDED, maxLength: ADDED },
    ),
  });

  it('is read without removed columns and with added ones', () => {
    fc.assert(
      fc.property(change, ({ removed, added }) => {
        const db = openChatDb(':memory:', macos);
        try {
          fill(db);
          dropTriggersAndIndexes(db);
          const store = readChatDb(db);
          const before = readAll(store);
          const columns = columnsOf(db);
          const gone = removed.flatMap((choice) => columns.splice(choice % columns.length, 1));
          for (const { table, column } of gone) db.exec(`ALTER TABLE ${table} DROP COLUMN ${column}`);
          for (const [index, { table, type }] of added.entries())
            db.exec(`ALTER TABLE ${table} ADD COLUMN added_${index} ${type}`);
          const names = new Set(gone.map(({ table, column }) => `${table}.${column}`));
          const after = readAll(store);
          expect([...after.keys()]).toEqual([...before.keys()]);
          for (const [what, value] of after) {
            const sources = DEPENDS_ON[what.replace(/^GUID-\d+ /, '')];
            if (sources === undefined) throw new Error(`${what} has no columns`);
            if (!sources.some((column) => names.has(column))) expect(value, what).toEqual(before.get(what));
          }
        } finally {
          db.close();
        }
      }),
      { numRuns: 25 },
    );
  });

  it('gives the same results to a reader that opens it after the change', () => {
    const db = openChatDb(':memory:', macos);
    fill(db);
    const open = readChatDb(db);
    readAll(open);
    db.exec('ALTER TABLE message ADD COLUMN added INTEGER');
    expect(readAll(open)).toEqual(readAll(readChatDb(db)));
    db.close();
  });
});
