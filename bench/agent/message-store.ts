import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import type { ChatDb } from '@footbridge/agent/ports/messages/chat-db';
import { openChatDb } from '@footbridge/testkit/macos/chat-db';

import { readChatDb } from '../../packages/agent/test/real-chat-db.ts';

/** Measures the reader on a store of the size that a busy Mac has after some years. */
const MESSAGES = 300_000;
const CHATS = 2_000;
const REPEATS = 2_000;

const folder = mkdtempSync(join(tmpdir(), 'footbridge-'));
try {
  const path = join(folder, 'chat.db');
  fill(openChatDb(path, 26));
  const db = new DatabaseSync(path, { readOnly: true });
  const store = readChatDb(db);
  const newest = store.newestRowid();
  measure('rowsAfter, nothing new', () => store.rowsAfter(newest, 100));
  measure('rowsAfter, one row', () => store.rowsAfter(newest - 1, 100));
  measure('ownReaction', (round) => store.ownReaction(guid(round * 7)));
  measure('groupOf', (round) => store.groupOf(members((round % (CHATS / 4)) * 4), 'iMessage'));
  measure('groupOf, unknown', () => store.groupOf([person(1), person(99_999)], 'iMessage'));
  measure('directChat', (round) => store.directChat(person(round % CHATS), 'iMessage'));
  measure('rowByGuid', (round) => store.rowByGuid(guid(round * 3)));
  measure('chat', (round) => store.chat(2 ** 32 + 1 + (round % CHATS)));
  check(store);
  db.close();
} finally {
  rmSync(folder, { recursive: true });
}

function measure(name: string, read: (round: number) => unknown): void {
  for (let round = 0; round < 50; round += 1) read(round);
  const times = Array.from({ length: REPEATS }, (_, round) => {
    const started = performance.now();
    read(round);
    return performance.now() - started;
  }).sort((one, other) => one - other);
  const at = (share: number): string => (times[Math.floor(REPEATS * share)] ?? 0).toFixed(3);
  process.stdout.write(`${name.padEnd(24)} median ${at(0.5)} ms, p95 ${at(0.95)} ms\n`);
}

/** A measurement of lookups that find nothing would be worthless. */
function check(store: ChatDb): void {
  const group = store.groupOf(members(0), 'iMessage');
  const found = typeof group === 'object' && store.directChat(person(1), 'iMessage') !== undefined;
  if (!found || store.ownReaction(guid(7)) === undefined)
    throw new Error('the store is not filled as expected');
}

function person(index: number): string {
  return `+1555${String(index).padStart(7, '0')}`;
}

function guid(index: number): string {
  return `GUID-${index}`;
}

/** Every fourth chat is a group of three. */
function members(chat: number): string[] {
  return chat % 4 === 0 ? [person(chat), person(chat + 1), person(chat + 2)] : [person(chat)];
}

function fill(db: DatabaseSync): void {
  const body = readFileSync(
    new URL('../../packages/agent/fixtures/bodies/regular-text.bin', import.meta.url),
  );
  db.exec('BEGIN');
  const handle = db.prepare("INSERT INTO handle (id, service) VALUES (?, 'iMessage')");
  for (let index = 0; index < CHATS + 3; index += 1) handle.run(person(index));
  const chat = db.prepare(
    "INSERT INTO chat (guid, style, chat_identifier, service_name) VALUES (?, ?, ?, 'iMessage')",
  );
  const member = db.prepare('INSERT INTO chat_handle_join (chat_id, handle_id) VALUES (?, ?)');
  for (let index = 0; index < CHATS; index += 1) {
    const people = members(index);
    chat.run(`any;${index}`, people.length > 1 ? 43 : 45, `chat${index}`);
    for (let offset = 0; offset < people.length; offset += 1) member.run(index + 1, index + offset + 1);
  }
  const message = db.prepare(
    `INSERT INTO message (guid, attributedBody, handle_id, service, date, is_from_me, associated_message_guid,
       associated_message_type) VALUES (?, ?, ?, 'iMessage', ?, ?, ?, ?)`,
  );
  const joined = db.prepare(
    'INSERT INTO chat_message_join (chat_id, message_id, message_date) VALUES (?, ?, ?)',
  );
  for (let index = 0; index < MESSAGES; index += 1) {
    const date = 700_000_000_000_000_000n + BigInt(index) * 1_000_000_000n;
    const isReaction = index % 7 === 1 && index > 7;
    const target = isReaction ? `p:0/${guid(index - 1)}` : null;
    const place = index % CHATS;
    message.run(
      guid(index),
      isReaction ? null : body,
      place + 1,
      date,
      isReaction ? 1 : 0,
      target,
      isReaction ? 2000 : 0,
    );
    joined.run(place + 1, index + 1, date);
  }
  db.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
}
