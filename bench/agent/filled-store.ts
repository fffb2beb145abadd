import { readFileSync } from 'node:fs';

import { openChatDb } from '@footbridge/simulator/chat-db';

export const CHATS = 2_000;
const MESSAGES = 300_000;
const FIRST_DATE = 700_000_000_000_000_000n;

export const person = (index: number): string => `+1555${String(index).padStart(7, '0')}`;

export const guid = (index: number): string => `GUID-${index}`;

/** Every fourth chat is a group of three. */
export const members = (chat: number): string[] =>
  chat % 4 === 0 ? [person(chat), person(chat + 1), person(chat + 2)] : [person(chat)];

/** Creates a store of macOS 26 as large as that of a busy Mac after some years: chats, messages and own reactions. */
export function fillStore(path: string): void {
  const db = openChatDb(path, 26);
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
    const date = FIRST_DATE + BigInt(index) * 1_000_000_000n;
    const place = (index % CHATS) + 1;
    if (index % 7 === 1 && index > 7)
      message.run(guid(index), null, place, date, 1, `p:0/${guid(index - 1)}`, 2000);
    else message.run(guid(index), body, place, date, 0, null, 0);
    joined.run(place, index + 1, date);
  }
  db.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
}
