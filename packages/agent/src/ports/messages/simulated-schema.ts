import type { DatabaseSync } from 'node:sqlite';

/** The tables of `chat.db` since macOS 12, reduced to the columns that the agent reads. */
const TABLES = `
  CREATE TABLE IF NOT EXISTS handle (ROWID INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, service TEXT NOT NULL,
    uncanonicalized_id TEXT, UNIQUE (id, service));
  CREATE TABLE IF NOT EXISTS chat (ROWID INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT UNIQUE NOT NULL, style INTEGER,
    state INTEGER, chat_identifier TEXT, service_name TEXT, room_name TEXT, display_name TEXT,
    is_filtered INTEGER DEFAULT 0);
  CREATE TABLE IF NOT EXISTS message (ROWID INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT UNIQUE NOT NULL, text TEXT,
    handle_id INTEGER DEFAULT 0, service TEXT, error INTEGER DEFAULT 0, date INTEGER, date_delivered INTEGER,
    is_delivered INTEGER DEFAULT 0, is_finished INTEGER DEFAULT 0, is_from_me INTEGER DEFAULT 0,
    is_empty INTEGER DEFAULT 0, is_sent INTEGER DEFAULT 0, was_downgraded INTEGER DEFAULT 0,
    cache_has_attachments INTEGER DEFAULT 0, cache_roomnames TEXT, is_audio_message INTEGER DEFAULT 0,
    item_type INTEGER DEFAULT 0, other_handle INTEGER DEFAULT 0, group_action_type INTEGER DEFAULT 0,
    associated_message_guid TEXT, associated_message_type INTEGER DEFAULT 0, expressive_send_style_id TEXT,
    associated_message_range_location INTEGER DEFAULT 0, associated_message_range_length INTEGER DEFAULT 0,
    reply_to_guid TEXT, thread_originator_guid TEXT, thread_originator_part TEXT);
  CREATE INDEX IF NOT EXISTS message_idx_associated_message2 ON message (associated_message_guid);
  CREATE TABLE IF NOT EXISTS chat_message_join (chat_id INTEGER REFERENCES chat (ROWID) ON DELETE CASCADE,
    message_id INTEGER REFERENCES message (ROWID) ON DELETE CASCADE, message_date INTEGER DEFAULT 0,
    PRIMARY KEY (chat_id, message_id));
  CREATE INDEX IF NOT EXISTS chat_message_join_idx_message_id_only ON chat_message_join (message_id);
  CREATE TABLE IF NOT EXISTS chat_handle_join (chat_id INTEGER REFERENCES chat (ROWID) ON DELETE CASCADE,
    handle_id INTEGER REFERENCES handle (ROWID) ON DELETE CASCADE, UNIQUE (chat_id, handle_id));
  CREATE TABLE IF NOT EXISTS attachment (ROWID INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT UNIQUE NOT NULL,
    created_date INTEGER DEFAULT 0, filename TEXT, uti TEXT, mime_type TEXT, transfer_state INTEGER DEFAULT 0,
    is_outgoing INTEGER DEFAULT 0, transfer_name TEXT, total_bytes INTEGER DEFAULT 0, is_sticker INTEGER DEFAULT 0);
  CREATE TABLE IF NOT EXISTS message_attachment_join (message_id INTEGER REFERENCES message (ROWID) ON DELETE CASCADE,
    attachment_id INTEGER REFERENCES attachment (ROWID) ON DELETE CASCADE, UNIQUE (message_id, attachment_id));
  CREATE TABLE IF NOT EXISTS deleted_messages (ROWID INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT NOT NULL);
  CREATE TRIGGER IF NOT EXISTS add_to_deleted_messages AFTER DELETE ON message
    BEGIN INSERT INTO deleted_messages (guid) VALUES (old.guid); END;
`;

/** State of the simulation that `chat.db` has no place for. */
const SIMULATION_TABLES = `
  CREATE TABLE IF NOT EXISTS simulated_setting (name TEXT PRIMARY KEY, value TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS simulated_voice (attachment_id INTEGER PRIMARY KEY, duration_ms INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS simulated_person (handle TEXT PRIMARY KEY, has_imessage INTEGER NOT NULL);
`;

/** Columns that later macOS versions added. */
const ADDED_COLUMNS: readonly { since: number; table: string; column: string }[] = [
  { since: 13, table: 'message', column: 'date_edited INTEGER' },
  { since: 13, table: 'message', column: 'part_count INTEGER' },
  { since: 15, table: 'message', column: 'associated_message_emoji TEXT DEFAULT NULL' },
  { since: 15, table: 'attachment', column: 'emoji_image_short_description TEXT DEFAULT NULL' },
];

/** Creates the tables and adds the columns of this macOS version. Columns are never dropped, as in the real store. */
export function prepareSimulatedStore(db: DatabaseSync, macosMajor: number): void {
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON');
  db.exec(TABLES + SIMULATION_TABLES);
  for (const { since, table, column } of ADDED_COLUMNS) {
    if (since <= macosMajor && !columnsOf(db, table).has(column.split(' ')[0] ?? '')) {
      db.exec(`ALTER TABLE ${table} ADD COLUMN ${column}`);
    }
  }
}

export function columnsOf(db: DatabaseSync, table: string): ReadonlySet<string> {
  const rows = db.prepare('SELECT name FROM pragma_table_info(?)').all(table);
  return new Set(rows.map((row) => String(row['name'])));
}
