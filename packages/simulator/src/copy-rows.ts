import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';

import type { MessagesStore } from './messages-store.ts';

type Row = Record<string, SQLOutputValue>;

/** The rows of a store that a sync brings back. */
export interface StoreRows {
  readonly handles: readonly Row[];
  readonly chats: readonly Row[];
  readonly messages: readonly Row[];
  readonly attachments: readonly Row[];
  readonly members: readonly Row[];
  readonly joins: readonly Row[];
  readonly files: readonly Row[];
}

/** Reads the newest messages of a store, with all chats. */
export function readRows(db: DatabaseSync, newest: number): StoreRows {
  const all = (sql: string, ...values: number[]): Row[] => {
    const statement = db.prepare(sql);
    statement.setReadBigInts(true);
    return statement.all(...values);
  };
  const first = Number(db.prepare('SELECT max(ROWID) - ? AS first FROM message').get(newest)?.['first'] ?? 0);
  return {
    handles: all('SELECT ROWID AS old, * FROM handle ORDER BY ROWID DESC'),
    chats: all('SELECT ROWID AS old, * FROM chat ORDER BY ROWID DESC'),
    messages: all('SELECT ROWID AS old, * FROM message WHERE ROWID > ? ORDER BY ROWID', first),
    attachments: all(
      `SELECT a.ROWID AS old, a.* FROM attachment a JOIN message_attachment_join j ON j.attachment_id = a.ROWID
       WHERE j.message_id > ?`,
      first,
    ),
    members: all('SELECT * FROM chat_handle_join ORDER BY ROWID'),
    joins: all('SELECT * FROM chat_message_join WHERE message_id > ? ORDER BY message_id', first),
    files: all('SELECT * FROM message_attachment_join WHERE message_id > ?', first),
  };
}

/** Inserts rows of another store under new row ids, each in its own transaction. */
export function copyRows(rows: StoreRows, store: MessagesStore): void {
  const handles = copy('handle', rows.handles);
  const chats = copy('chat', rows.chats);
  copy('chat_handle_join', rows.members, { chat_id: chats, handle_id: handles });
  const messages = copy('message', rows.messages, { handle_id: handles });
  const attachments = copy('attachment', rows.attachments);
  copy('chat_message_join', rows.joins, { chat_id: chats, message_id: messages });
  copy('message_attachment_join', rows.files, { message_id: messages, attachment_id: attachments });

  /** Returns the new row ids by the old ones. References to other tables are replaced by `ids`. */
  function copy(
    table: string,
    found: readonly Row[],
    ids: Readonly<Record<string, ReadonlyMap<SQLOutputValue, number>>> = {},
  ): Map<SQLOutputValue, number> {
    const copied = new Map<SQLOutputValue, number>();
    for (const { old, ROWID: _, ...values } of found) {
      for (const [column, known] of Object.entries(ids))
        values[column] = known.get(values[column] ?? null) ?? 0;
      copied.set(old ?? null, store.insert(table, values));
    }
    return copied;
  }
}
