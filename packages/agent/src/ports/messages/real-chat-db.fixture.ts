import { readFileSync } from 'node:fs';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';

import { ChatDb } from './chat-db.ts';
import type { ChatDbOptions } from './chat-db.ts';

/** Rows for a store of macOS 26. */
export function exampleRows(): string {
  return readFileSync(new URL('../../../fixtures/rows/macos-26.sql', import.meta.url), 'utf8');
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
