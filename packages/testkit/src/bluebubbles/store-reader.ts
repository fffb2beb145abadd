import { DatabaseSync } from 'node:sqlite';

export interface KnownChat {
  readonly guid: string;
  readonly rowid: number;
  readonly style: number;
  readonly service: string;
  readonly members: readonly string[];
}

export interface KnownMessage {
  readonly rowid: number;
  readonly guid: string;
  readonly text: string | null;
  readonly error: number;
  readonly chatGuid: string | null;
}

/** What the server reads from `chat.db`. Opened for each read: the file can be replaced at any time. */
export class StoreReader {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** The helper looks chats up by their exact GUID. */
  chat(guid: string): KnownChat | undefined {
    return this.chats().find((chat) => chat.guid === guid);
  }

  chats(): KnownChat[] {
    return this.#read((db) =>
      db
        .prepare(
          `SELECT c.ROWID AS id, c.guid, c.style, c.service_name AS service, group_concat(DISTINCT h.id) AS members
           FROM chat c JOIN chat_handle_join j ON j.chat_id = c.ROWID JOIN handle h ON h.ROWID = j.handle_id
           GROUP BY c.ROWID`,
        )
        .all()
        .map((row) => ({
          guid: String(row['guid']),
          rowid: Number(row['id']),
          style: Number(row['style']),
          service: String(row['service']),
          members: String(row['members']).split(','),
        })),
    );
  }

  message(guid: string): KnownMessage | undefined {
    return this.#messages('m.guid = ?', guid)[0];
  }

  /** The newest own message of a chat, or of all chats but this one. */
  newestOwn(chatGuid: string, where: 'in' | 'outside'): KnownMessage | undefined {
    const condition = where === 'in' ? 'c.guid = ?' : 'c.guid <> ?';
    return this.#messages(`m.is_from_me = 1 AND ${condition}`, chatGuid)[0];
  }

  #messages(condition: string, value: string): KnownMessage[] {
    return this.#read((db) =>
      db
        .prepare(
          `SELECT m.ROWID AS id, m.guid, m.text, m.error, c.guid AS chat FROM message m
           LEFT JOIN chat_message_join j ON j.message_id = m.ROWID LEFT JOIN chat c ON c.ROWID = j.chat_id
           WHERE ${condition} ORDER BY m.ROWID DESC LIMIT 1`,
        )
        .all(value)
        .map((row) => ({
          rowid: Number(row['id']),
          guid: String(row['guid']),
          text: row['text'] === null ? null : String(row['text']),
          error: Number(row['error']),
          chatGuid: row['chat'] === null ? null : String(row['chat']),
        })),
    );
  }

  #read<T>(read: (db: DatabaseSync) => T): T {
    const db = new DatabaseSync(this.#path, { readOnly: true, timeout: 10_000 });
    try {
      return read(db);
    } finally {
      db.close();
    }
  }
}
