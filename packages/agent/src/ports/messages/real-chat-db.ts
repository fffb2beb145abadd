import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { SQLInputValue } from 'node:sqlite';

import { ChatDb } from './chat-db.ts';
import type { ChatDbOptions } from './chat-db.ts';

/** For tests: stores with the real schemas of macOS. */
export const MACOS_VERSIONS = ['13', '14', '15', '26'] as const;

/** Functions that exist only inside Messages. Its triggers call them. */
const APPLE_FUNCTIONS = [
  'after_delete_message_plugin',
  'before_delete_attachment_path',
  'delete_attachment_path',
  'delete_chat_background_before_deleting_chat',
  'guid_for_chat',
  'is_mic_enabled',
  'verify_chat',
];

export function fixture(name: string): string {
  return readFileSync(new URL(`../../../fixtures/chat-db/${name}`, import.meta.url), 'utf8');
}

/** Creates a store with the schema and the triggers of a macOS version. */
export function createChatDb(path: string, macos: string): DatabaseSync {
  const db = new DatabaseSync(path);
  for (const name of APPLE_FUNCTIONS) db.function(name, { varargs: true }, () => 0);
  if (path !== ':memory:') db.exec('PRAGMA journal_mode = WAL');
  db.exec(fixture(`macos-${macos}.sql`));
  return db;
}

export function readChatDb(db: DatabaseSync, options: Partial<ChatDbOptions> = {}): ChatDb {
  return new ChatDb(db, {
    file: () => 'fixture',
    memory: { load: () => undefined, save: () => {} },
    folders: { home: '/Users/me', messages: '/Users/me/Library/Messages' },
    ownHandles: ['+15550100000'],
    ...options,
  });
}

/** Inserts a row and returns its id. */
export function insertInto(
  db: DatabaseSync,
  table: string,
  values: Readonly<Record<string, SQLInputValue>>,
): number {
  const names = Object.keys(values);
  const sql = `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`;
  return Number(db.prepare(sql).run(...Object.values(values)).lastInsertRowid);
}
