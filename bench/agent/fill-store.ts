import { readFileSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';

export const CHATS = 2_000;
const MESSAGES = 300_000;

export function person(index: number): string {
  return `+1555${String(index).padStart(7, '0')}`;
}

export function guid(index: number): string {
  return `GUID-${index}`;
}

/** Every fourth chat is a group of three. */
export function members(chat: number): string[] {
  return chat % 4 === 0 ? [person(chat), person(chat + 1), person(chat + 2)] : [person(chat)];
}

/** Fills a store of macOS 26 with chats, messages and own reactions. */
export function fillStore(db: DatabaseSync): void {
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
}
