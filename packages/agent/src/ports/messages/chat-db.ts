import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';

import type {
  Chat,
  MessageStore,
  OwnReaction,
  ServiceName,
  StoredAttachment,
  StoredRow,
  StoredTapback,
} from './messages.ts';
import { Statements } from './statements.ts';
import { chatIdOf, chatRowOf } from './chat-ids.ts';
import { StoreGeneration } from './store-generation.ts';
import type { StoreMemory } from './store-generation.ts';
import { readTapbackCode, stripTargetPrefix } from './tapbacks.ts';

type Row = Record<string, SQLOutputValue>;

/** The send state of an outgoing row. */
export interface SendState {
  readonly rowid: number;
  readonly guid: string;
  readonly finished: boolean;
  readonly sent: boolean;
  readonly error: number;
}

const MACOS_EPOCH_MS = Date.UTC(2001, 0, 1);
const GROUP_STYLE = 43;
const TRANSFER_FINISHED = 5;
/** Placeholders for attachments and app payloads in a text. */
const PLACEHOLDERS = /[\uFFFC\uFFFD]/g;

/** Columns that older macOS versions lack. They are selected only where they exist. */
const LATER_COLUMNS = {
  message: ['associated_message_emoji', 'part_count', 'thread_originator_guid'],
  attachment: ['emoji_image_short_description'],
} as const;

export interface ChatDbOptions {
  /** Returns an id of the file that differs after it was replaced. */
  readonly file: () => string;
  readonly memory: StoreMemory;
  readonly ownHandles: readonly string[];
}

/**
 * Reads `chat.db` of any supported macOS version. Rows change after they are inserted (edits, receipts, late
 * attachments), so only the column names are cached.
 */
export class ChatDb implements MessageStore {
  readonly #sql: Statements;
  readonly #generation: StoreGeneration;
  readonly #ownHandles: readonly string[];
  #columns: { version: number; message: string; attachment: string } | undefined;

  constructor(db: DatabaseSync, options: ChatDbOptions) {
    this.#sql = new Statements(db);
    this.#generation = new StoreGeneration(this.#sql, options.file, options.memory);
    this.#ownHandles = options.ownHandles;
  }

  generation(): number {
    return this.#generation.current();
  }

  newestRowid(): number {
    const row = this.#sql.of("SELECT seq FROM sqlite_sequence WHERE name = 'message'").get();
    return Number(row?.['seq'] ?? 0);
  }

  rowsAfter(rowid: number, limit: number): StoredRow[] {
    const sql = `${this.#select().message} WHERE m.ROWID > ? ORDER BY m.ROWID LIMIT ?`;
    return this.#sql
      .of(sql)
      .all(rowid, limit)
      .map((row) => this.#read(row));
  }

  row(rowid: number): StoredRow | undefined {
    return this.#one('m.ROWID = ?', rowid);
  }

  rowByGuid(guid: string): StoredRow | undefined {
    return this.#one('m.guid = ?', guid);
  }

  chat(id: number): Chat | undefined {
    const rowid = this.rowidOf(id);
    if (rowid === undefined) return undefined;
    const row = this.#sql.of('SELECT ROWID AS id, style, service_name FROM chat WHERE ROWID = ?').get(rowid);
    return row === undefined ? undefined : this.#readChat(row);
  }

  /** Returns the row id of a chat in this store. */
  rowidOf(chatId: number): number | undefined {
    return chatRowOf(this.generation(), chatId);
  }

  /** Returns all chats, oldest first. */
  chats(): Chat[] {
    const rows = this.#sql.of('SELECT ROWID AS id, style, service_name FROM chat ORDER BY ROWID').all();
    return rows.map((row) => this.#readChat(row));
  }

  /** Returns all rows of a chat, oldest first. */
  rowsOf(chatId: number): StoredRow[] {
    const sql = `${this.#select().message} WHERE m.ROWID IN (SELECT message_id FROM chat_message_join WHERE chat_id = ?) ORDER BY m.ROWID`;
    return this.#sql
      .of(sql)
      .all(this.rowidOf(chatId) ?? null)
      .map((row) => this.#read(row));
  }

  groupOf(recipients: readonly string[]): Chat | undefined {
    const wanted = [...new Set(recipients)].sort().join('\n');
    return this.chats().find((chat) => chat.isGroup && [...chat.recipients].sort().join('\n') === wanted);
  }

  directChat(handle: string, service: ServiceName): Chat | undefined {
    return this.chats().find(
      (chat) => !chat.isGroup && chat.service === service && chat.recipients[0] === handle,
    );
  }

  ownHandles(): readonly string[] {
    return this.#ownHandles;
  }

  ownReaction(targetGuid: string): OwnReaction | undefined {
    const sql = `${this.#select().message}
      WHERE m.is_from_me = 1 AND m.associated_message_guid IN (?1, 'p:0/' || ?1, 'bp:' || ?1)
        AND (m.associated_message_type = 1000 OR m.associated_message_type BETWEEN 2000 AND 2007
          OR m.associated_message_type BETWEEN 3000 AND 3007)
      ORDER BY m.date DESC, m.ROWID DESC LIMIT 1`;
    const found = this.#sql.of(sql).get(targetGuid);
    if (found === undefined) return undefined;
    const row = this.#read(found);
    const tapback = row.tapback === undefined ? undefined : readTapbackCode(row.tapback.type);
    if (tapback?.action !== 'add') return undefined;
    if (tapback.kind === 'classic') return { kind: 'classic', type: tapback.type };
    if (tapback.kind === 'emoji') return { kind: 'emoji', emoji: row.tapback?.emoji };
    return { kind: 'sticker', fileName: row.attachments[0]?.name };
  }

  sendState(guid: string): SendState | undefined {
    const row = this.#sql
      .of('SELECT ROWID AS rowid, guid, is_finished, is_sent, error FROM message WHERE guid = ?')
      .get(guid);
    if (row === undefined) return undefined;
    return {
      rowid: Number(row['rowid']),
      guid: String(row['guid']),
      finished: row['is_finished'] === 1,
      sent: row['is_sent'] === 1,
      error: Number(row['error']),
    };
  }

  #one(condition: string, value: number | string): StoredRow | undefined {
    const row = this.#sql.of(`${this.#select().message} WHERE ${condition}`).get(value);
    return row === undefined ? undefined : this.#read(row);
  }

  #readChat(row: Row): Chat {
    const rowid = Number(row['id']);
    const members = this.#sql
      .of(
        `SELECT h.id FROM chat_handle_join j JOIN handle h ON h.ROWID = j.handle_id
         WHERE j.chat_id = ? ORDER BY j.ROWID`,
      )
      .all(rowid);
    return {
      id: chatIdOf(this.generation(), rowid),
      isGroup: row['style'] === GROUP_STYLE,
      recipients: members.map((member) => String(member['id'])),
      service: serviceName(row['service_name']),
    };
  }

  #read(row: Row): StoredRow {
    const rowid = Number(row['rowid']);
    const attachments = this.#attachments(rowid);
    const body = (text(row['text']) ?? '').replaceAll(PLACEHOLDERS, '');
    return {
      rowid,
      guid: String(row['guid']),
      chatId: row['chat_id'] === null ? undefined : chatIdOf(this.generation(), Number(row['chat_id'])),
      fromMe: row['is_from_me'] === 1,
      sender: text(row['sender']),
      service: serviceName(row['service']),
      text: body,
      sentAt: Number(row['date_ms']) + MACOS_EPOCH_MS,
      isMessage: row['item_type'] === 0,
      unsent: row['part_count'] === 0 && body === '' && attachments.length === 0,
      tapback: readTapback(row),
      effect: text(row['effect']),
      replyTo: text(row['reply_to']),
      isVoice: row['is_audio_message'] === 1,
      expectsAttachments: row['cache_has_attachments'] === 1,
      attachments,
    };
  }

  #attachments(rowid: number): StoredAttachment[] {
    const sql = `${this.#select().attachment}
      JOIN message_attachment_join j ON j.attachment_id = a.ROWID WHERE j.message_id = ? ORDER BY a.ROWID`;
    return this.#sql
      .of(sql)
      .all(rowid)
      .map((row) => ({
        guid: String(row['guid']),
        path: text(row['filename']),
        name: text(row['transfer_name']) ?? 'attachment',
        mime: text(row['mime_type']) ?? 'application/octet-stream',
        isSticker: row['is_sticker'] === 1,
        description: text(row['description']),
        ready: row['transfer_state'] === TRANSFER_FINISHED,
      }));
  }

  #select(): { message: string; attachment: string } {
    const version = Number(this.#sql.of('PRAGMA schema_version').get()?.['schema_version']);
    if (this.#columns?.version === version) return this.#columns;
    const message = this.#presentColumns('message');
    const attachment = this.#presentColumns('attachment');
    const optional = (present: ReadonlySet<string>, column: string, table: string, name: string): string =>
      present.has(column) ? `${table}.${column} AS ${name}` : `NULL AS ${name}`;
    this.#columns = {
      version,
      message: `SELECT m.ROWID AS rowid, m.guid, m.text, m.is_from_me, m.service, m.date / 1000000 AS date_ms,
          m.item_type, m.associated_message_guid, m.associated_message_type, m.is_audio_message,
          m.cache_has_attachments, m.expressive_send_style_id AS effect, h.id AS sender,
          ${optional(message, 'associated_message_emoji', 'm', 'emoji')},
          ${optional(message, 'part_count', 'm', 'part_count')},
          ${optional(message, 'thread_originator_guid', 'm', 'reply_to')},
          (SELECT MIN(chat_id) FROM chat_message_join WHERE message_id = m.ROWID) AS chat_id
        FROM message m LEFT JOIN handle h ON h.ROWID = m.handle_id`,
      attachment: `SELECT a.guid, a.filename, a.transfer_name, a.mime_type, a.is_sticker, a.transfer_state,
          ${optional(attachment, 'emoji_image_short_description', 'a', 'description')}
        FROM attachment a`,
    };
    return this.#columns;
  }

  #presentColumns(table: keyof typeof LATER_COLUMNS): ReadonlySet<string> {
    const present = this.#sql.of(`SELECT name FROM pragma_table_info('${table}')`).all();
    const names = new Set(present.map((row) => String(row['name'])));
    return new Set(LATER_COLUMNS[table].filter((column) => names.has(column)));
  }
}

function readTapback(row: Row): StoredTapback | undefined {
  const type = Number(row['associated_message_type'] ?? 0);
  const raw = text(row['associated_message_guid']);
  if (type === 0 || raw === undefined) return undefined;
  return { type, targetRaw: raw, targetGuid: stripTargetPrefix(raw), emoji: text(row['emoji']) };
}

function serviceName(value: unknown): ServiceName {
  return value === 'SMS' || value === 'RCS' ? value : 'iMessage';
}

function text(value: SQLOutputValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
