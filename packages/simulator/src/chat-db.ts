import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/** The supported macOS versions. */
export const MACOS_VERSIONS = [13, 14, 15, 26] as const;
export type MacosVersion = (typeof MACOS_VERSIONS)[number];

/** SQL functions that exist only inside Messages. Triggers call them. */
const APPLE_FUNCTIONS = {
  verify_chat: null,
  guid_for_chat: '',
  is_mic_enabled: 0,
  delete_attachment_path: null,
  before_delete_attachment_path: null,
  after_delete_message_plugin: null,
  delete_chat_background_before_deleting_chat: null,
};

/**
 * Opens a `chat.db` for writing in WAL mode, as Messages does, with the schema of a version of macOS. An existing store keeps what it has
 * and gets what it lacks, as in an update of macOS.
 */
export function openChatDb(path: string, macos: number): DatabaseSync {
  const db = new DatabaseSync(path);
  for (const [name, result] of Object.entries(APPLE_FUNCTIONS))
    db.function(name, { varargs: true }, () => result);
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA busy_timeout = 10000');
  const isNew = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'message'").get() === undefined;
  if (isNew) db.exec(schemaOf(macos));
  else extend(db, schemaOf(macos));
  return db;
}

function schemaOf(macos: number): string {
  const version = [12, ...MACOS_VERSIONS].findLast((known) => known <= macos) ?? 12;
  return readFileSync(new URL(`schemas/macos-${version}.sql`, import.meta.url), 'utf8');
}

function extend(db: DatabaseSync, schema: string): void {
  const wanted = new DatabaseSync(':memory:');
  wanted.exec(schema);
  const entries = wanted
    .prepare("SELECT name, type, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type != 'table'")
    .all();
  const known = new Set(
    db
      .prepare('SELECT name FROM sqlite_schema')
      .all()
      .map(({ name }) => name),
  );
  db.exec('BEGIN IMMEDIATE');
  for (const { name, type, sql } of entries) {
    if (!known.has(name ?? null)) db.exec(String(sql));
    else if (type === 'table') addColumns(db, wanted, String(name));
  }
  db.exec('COMMIT');
  wanted.close();
}

function addColumns(db: DatabaseSync, wanted: DatabaseSync, table: string): void {
  const columns = 'SELECT name, type, dflt_value AS value FROM pragma_table_info(?)';
  const known = new Set(
    db
      .prepare(columns)
      .all(table)
      .map(({ name }) => name),
  );
  for (const { name, type, value } of wanted.prepare(columns).all(table)) {
    if (known.has(name ?? null)) continue;
    const initial = value === null ? '' : ` DEFAULT ${String(value)}`;
    db.exec(`ALTER TABLE ${table} ADD COLUMN ${String(name)} ${String(type)}${initial}`);
  }
}
