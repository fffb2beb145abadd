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

/** Opens a `chat.db` for writing in WAL mode, as Messages does. Creates the schema of `macos` in a new file. */
export function openChatDb(path: string, macos: MacosVersion | 12): DatabaseSync {
  const db = new DatabaseSync(path);
  for (const [name, result] of Object.entries(APPLE_FUNCTIONS))
    db.function(name, { varargs: true }, () => result);
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 10000');
  const isNew = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'message'").get() === undefined;
  if (isNew) db.exec(schemaOf(macos));
  return db;
}

function schemaOf(macos: MacosVersion | 12): string {
  return readFileSync(new URL(`schemas/macos-${macos}.sql`, import.meta.url), 'utf8');
}
