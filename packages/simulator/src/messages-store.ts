import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';

import type { Clock } from '@footbridge/runtime/clock';

import { openChatDb } from './chat-db.ts';
import type { ServiceName } from './simulation.ts';
import { encodeBody } from './typed-stream.ts';
import type { BodyRun } from './typed-stream.ts';

export const MACOS_EPOCH_MS = Date.UTC(2001, 0, 1);
/** The number of the Mac's owner. */
const OWN_HANDLE = '+15550100000';
export const GROUP_STYLE = 43;
const DIRECT_STYLE = 45;
const TRANSFER_WAITING = 0;
const TRANSFER_FINISHED = 5;
const ATTACHMENT_PLACEHOLDER = '\uFFFC';

/** What the simulation knows and `chat.db` has no place for. */
const SIMULATION_TABLES = {
  simulated_voice: '(attachment_id INTEGER PRIMARY KEY, duration_ms INTEGER NOT NULL)',
  simulated_person: '(handle TEXT PRIMARY KEY, has_imessage INTEGER NOT NULL)',
};

/** Values by column. Bytes from another process are written as `{ base64 }`. */
export type Columns = Readonly<Record<string, SQLInputValue | { readonly base64: string }>>;

export interface ChatMembers {
  /** The other members. More than one makes a group. */
  readonly members: readonly string[];
  readonly service: string;
  /** Creates a second chat even if one with these members exists. */
  readonly twin?: boolean;
  /** A chat holds one service only. By default it holds all services since macOS 26. */
  readonly perService?: boolean;
}

export interface ChatRow extends ChatMembers {
  readonly rowid: number;
  readonly style: number;
  readonly service: ServiceName;
}

export interface StoredFile {
  readonly name: string;
  readonly mime: string;
  readonly path: string | undefined;
  readonly isSticker: boolean;
  readonly durationMs: number | undefined;
}

/** How `attachment.filename` is written. Messages uses all of them. */
export type PathForm = 'tilde' | 'absolute' | 'relative' | 'null';

export interface NewAttachment {
  readonly name: string;
  readonly mime: string;
  readonly base64?: string;
  /** Instead of `base64`, within one process. */
  readonly bytes?: Uint8Array;
  /** How long after its message the file is downloaded. */
  readonly delayMs?: number;
  /** The duration of a voice message, which the store does not have. */
  readonly durationMs?: number;
  readonly path?: PathForm;
  readonly columns?: Columns;
}

export interface AttachmentRow {
  readonly rowid: number;
  readonly guid: string;
  /** Where Messages puts the file, whatever the row says. */
  readonly file: string;
}

/** Single writes to a `chat.db`, in the steps in which Messages makes them. Each call is one transaction. */
export class MessagesStore {
  readonly folder: string;
  readonly #home: string;
  readonly #now: Clock['now'];
  readonly #standalone: boolean;
  #macos: number;
  #db: DatabaseSync;
  readonly #columns = new Map<string, ReadonlySet<string>>();
  readonly #statements = new Map<string, StatementSync>();

  /** `home` is the home directory of the Mac's owner, `macos` the major version. */
  constructor(
    home: string,
    macos: number,
    options: { folder?: string; clock?: Pick<Clock, 'now'>; standalone?: boolean } = {},
  ) {
    this.folder = options.folder ?? join(home, 'Library/Messages');
    this.#home = home;
    this.#macos = macos;
    this.#standalone = options.standalone ?? false;
    this.#now = () => (options.clock ?? Date).now();
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    this.#db = this.#open();
  }

  get path(): string {
    return join(this.folder, 'chat.db');
  }

  get db(): DatabaseSync {
    return this.#db;
  }

  /** The major version. */
  get macos(): number {
    return this.#macos;
  }

  /** Installs another version of macOS. */
  installMacos(macos: number): void {
    this.#macos = macos;
    this.reopen();
  }

  close(): void {
    this.#statements.clear();
    this.#db.close();
  }

  /** Opens the file again, after it was replaced. */
  reopen(): void {
    if (this.#db.isOpen) this.close();
    this.#columns.clear();
    this.#db = this.#open();
  }

  /** Makes several writes at once. */
  atomically<T>(work: () => T): T {
    if (this.#db.isTransaction) return work();
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.#db.exec('COMMIT');
      return result;
    } catch (error) {
      if (this.#db.isOpen && this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  /** Returns rows with their integers as bigints, which dates need. */
  query(sql: string, ...values: SQLInputValue[]): Record<string, SQLOutputValue>[] {
    const statement = this.#sql(`/* exact */ ${sql}`);
    statement.setReadBigInts(true);
    return statement.all(...values);
  }

  handle(id: string, service: string): number {
    const sql = 'SELECT ROWID AS id FROM handle WHERE id = ? AND service = ?';
    return rowidIn(this.#sql(sql).get(id, service)) ?? this.insert('handle', { id, service });
  }

  /** Returns the chat with these members, creating it if necessary. */
  chat({ members, service, twin = false, perService = false }: ChatMembers): number {
    const known = twin ? undefined : this.#findChat(members, service, perService);
    if (known !== undefined) return known;
    const isGroup = members.length > 1;
    const identifier = isGroup ? `chat${randomDigits()}` : (members[0] ?? '');
    const name = `${isGroup ? '+' : '-'};${identifier}${twin && !isGroup ? `#${randomDigits()}` : ''}`;
    // Since macOS 26 the guid names the service only if there is a chat on another one.
    const isNeutral = this.macos >= 26 && this.rowidOf('chat', `any;${name}`) === undefined;
    return this.atomically(() => {
      const chat = this.insert('chat', {
        guid: `${isNeutral ? 'any' : service};${name}`,
        style: isGroup ? GROUP_STYLE : DIRECT_STYLE,
        chat_identifier: identifier,
        service_name: service,
        room_name: isGroup ? identifier : null,
        group_id: randomUUID().toUpperCase(),
        account_login: `P:${OWN_HANDLE}`,
        last_addressed_handle: OWN_HANDLE,
      });
      for (const member of members)
        this.insert('chat_handle_join', { chat_id: chat, handle_id: this.handle(member, service) });
      return chat;
    });
  }

  /** Returns the chat of a service with this person alone, creating it if necessary. */
  directChat(handle: string, service: ServiceName): number {
    return this.chat({ members: [handle], service, perService: true });
  }

  chatRow(rowid: number): ChatRow | undefined {
    return this.#chats('WHERE ROWID = ?', rowid)[0];
  }

  /** Returns all chats, oldest first. */
  chats(): ChatRow[] {
    return this.#chats('ORDER BY ROWID');
  }

  /** Removes a member from a group. */
  leave(chat: number, handle: string): void {
    this.#sql(
      'DELETE FROM chat_handle_join WHERE chat_id = ? AND handle_id IN (SELECT ROWID FROM handle WHERE id = ?)',
    ).run(chat, handle);
  }

  /** Whether this person can be reached on iMessage. */
  hasIMessage(handle: string): boolean {
    const row = this.#sql('SELECT has_imessage AS has FROM simulated_person WHERE handle = ?').get(handle);
    return row?.['has'] !== 0;
  }

  setIMessage(handle: string, has: boolean): void {
    this.#sql('INSERT OR REPLACE INTO simulated_person (handle, has_imessage) VALUES (?, ?)').run(
      handle,
      has ? 1 : 0,
    );
  }

  /** Inserts a message row that belongs to no chat and has no body yet. */
  message(columns: Columns, guid = randomUUID().toUpperCase()): { rowid: number; guid: string } {
    const defaults = { date: storeDate(this.#now()), is_finished: 1, part_count: 1 };
    return { rowid: this.insert('message', { ...defaults, ...columns, guid }), guid };
  }

  join(chat: number, message: number): void {
    this.#sql(
      `INSERT INTO chat_message_join (chat_id, message_id, message_date)
       SELECT ?, ROWID, coalesce(date, 0) FROM message WHERE ROWID = ?`,
    ).run(chat, message);
  }

  /** Inserts an attachment that waits for its file. */
  attachment(message: number, messageGuid: string, index: number, file: NewAttachment): AttachmentRow {
    const guid = `at_${index}_${messageGuid}`;
    const path = join(
      this.folder,
      'Attachments',
      messageGuid.slice(0, 2).toLowerCase(),
      guid,
      basename(file.name) || 'file',
    );
    const place = relative(this.#home, path);
    const forms = { tilde: `~/${place}`, absolute: path, relative: place, null: null };
    const rowid = this.insert('attachment', {
      guid,
      original_guid: guid,
      created_date: Math.floor((this.#now() - MACOS_EPOCH_MS) / 1000),
      filename: forms[file.path ?? 'tilde'],
      mime_type: file.mime,
      transfer_name: file.name,
      total_bytes: contentOf(file).byteLength,
      transfer_state: TRANSFER_WAITING,
      ...file.columns,
    });
    this.insert('message_attachment_join', { message_id: message, attachment_id: rowid });
    if (file.durationMs !== undefined)
      this.insert('simulated_voice', { attachment_id: rowid, duration_ms: file.durationMs });
    return { rowid, guid, file: path };
  }

  writeFile(path: string, file: Pick<NewAttachment, 'base64' | 'bytes'>): void {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, contentOf(file), { mode: 0o600 });
  }

  /** Returns the files of a message that people see. */
  filesOf(messageGuid: string): StoredFile[] {
    return this.query(
      `SELECT a.*, v.duration_ms FROM message_attachment_join j JOIN attachment a ON a.ROWID = j.attachment_id
       LEFT JOIN simulated_voice v ON v.attachment_id = a.ROWID
       WHERE j.message_id = (SELECT ROWID FROM message WHERE guid = ?) ORDER BY a.ROWID`,
      messageGuid,
    )
      .filter((row) => row['hide_attachment'] !== 1n)
      .map(({ filename, transfer_name, mime_type, is_sticker, duration_ms }) => ({
        name: String(transfer_name),
        mime: String(mime_type),
        path: typeof filename === 'string' ? resolve(this.#home, filename.replace(/^~\//, '')) : undefined,
        isSticker: is_sticker === 1n,
        durationMs: duration_ms === null ? undefined : Number(duration_ms),
      }));
  }

  /** Returns the duration of a voice message by the guid of its file. */
  durationOf(attachmentGuid: string): number | undefined {
    const sql =
      'SELECT duration_ms FROM simulated_voice v JOIN attachment a ON a.ROWID = v.attachment_id WHERE a.guid = ?';
    const row = this.#sql(sql).get(attachmentGuid);
    return row === undefined ? undefined : Number(row['duration_ms']);
  }

  /** Deletes the rows of a reaction, of which the store keeps only the newest. */
  deleteTapbacks(from: string, target: string): void {
    this.#sql(
      `DELETE FROM message WHERE associated_message_guid = ?1 AND CASE WHEN ?2 = 'me' THEN is_from_me = 1
         ELSE is_from_me = 0 AND handle_id IN (SELECT ROWID FROM handle WHERE id = ?2) END`,
    ).run(target, from);
  }

  finishTransfer(attachment: number): void {
    this.update('attachment', attachment, { transfer_state: TRANSFER_FINISHED });
  }

  /** Returns the row of a guid, which can change when the store is rebuilt. */
  rowidOf(table: 'message' | 'chat' | 'attachment', guid: string): number | undefined {
    return rowidIn(this.#sql(`SELECT ROWID AS id FROM ${table} WHERE guid = ?`).get(guid));
  }

  guidOf(table: 'message' | 'chat' | 'attachment', rowid: number): string {
    return String(this.#sql(`SELECT guid FROM ${table} WHERE ROWID = ?`).get(rowid)?.['guid']);
  }

  /** Inserts a row. Columns that this macOS version lacks are left out. */
  insert(table: string, values: Columns): number {
    const names = this.#present(table, values);
    const sql = `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`;
    return Number(this.#sql(sql).run(...valuesOf(names, values)).lastInsertRowid);
  }

  update(table: string, rowid: number, values: Columns): void {
    const names = this.#present(table, values);
    if (names.length === 0) return;
    const sql = `UPDATE ${table} SET ${names.map((name) => `${name} = ?`).join(', ')} WHERE ROWID = ?`;
    this.#sql(sql).run(...valuesOf(names, values), rowid);
  }

  #open(): DatabaseSync {
    const db = openChatDb(this.path, this.macos);
    const kind = this.#standalone ? 'TABLE' : 'TEMP TABLE';
    for (const [name, columns] of Object.entries(SIMULATION_TABLES))
      db.exec(`CREATE ${kind} IF NOT EXISTS ${name} ${columns}`);
    return db;
  }

  #sql(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const prepared = this.#db.prepare(sql);
    this.#statements.set(sql, prepared);
    return prepared;
  }

  #chats(condition: string, ...values: number[]): ChatRow[] {
    const members = this.#sql(
      'SELECT h.id FROM chat_handle_join j JOIN handle h ON h.ROWID = j.handle_id WHERE j.chat_id = ? ORDER BY j.ROWID',
    );
    return this.#sql(`SELECT ROWID AS id, style, service_name AS service FROM chat ${condition}`)
      .all(...values)
      .map(({ id, style, service }) => ({
        rowid: Number(id),
        style: Number(style),
        service: service === 'SMS' || service === 'RCS' ? service : 'iMessage',
        members: [...new Set(members.all(Number(id)).map((row) => String(row['id'])))],
      }));
  }

  #findChat(members: readonly string[], service: string, perService: boolean): number | undefined {
    const [first = '', ...others] = members;
    const isAnyService = this.macos >= 26 && !perService ? 1 : 0;
    const known = 'SELECT c.ROWID AS id FROM chat c WHERE c.style = ? AND (c.service_name = ? OR ?)';
    if (others.length === 0) {
      const sql = `${known} AND c.chat_identifier = ? ORDER BY c.ROWID LIMIT 1`;
      return rowidIn(this.#sql(sql).get(DIRECT_STYLE, service, isAnyService, first));
    }
    // The order of the joins makes SQLite use the indexes on handles.
    const sql = `${known} AND c.ROWID IN (SELECT j.chat_id FROM handle h
            CROSS JOIN chat_handle_join j ON j.handle_id = h.ROWID WHERE h.id = ?)
          AND (SELECT group_concat(h.id, char(10) ORDER BY h.id) FROM chat_handle_join j
            JOIN handle h ON h.ROWID = j.handle_id WHERE j.chat_id = c.ROWID) = ?
        ORDER BY c.ROWID LIMIT 1`;
    const wanted = [...members].sort().join('\n');
    return rowidIn(this.#sql(sql).get(GROUP_STYLE, service, isAnyService, first, wanted));
  }

  #present(table: string, values: Columns): string[] {
    let columns = this.#columns.get(table);
    if (columns === undefined) {
      const rows = this.#sql('SELECT name FROM pragma_table_info(?)').all(table);
      columns = new Set(rows.map((row) => String(row['name'])));
      this.#columns.set(table, columns);
    }
    return Object.keys(values).filter((name) => columns.has(name));
  }
}

/** The runs of a body: attachments first, each in its own part, then the text. */
export function bodyRuns(text: string, attachments: readonly { guid: string }[] = []): BodyRun[] {
  const files = attachments.map(({ guid }, index) => ({
    text: ATTACHMENT_PLACEHOLDER,
    attributes: { __kIMMessagePartAttributeName: index, __kIMFileTransferGUIDAttributeName: guid },
  }));
  if (text === '') return files;
  return [...files, { text, attributes: { __kIMMessagePartAttributeName: files.length } }];
}

/** The columns with the body. From macOS 13 on `text` is usually NULL and only `attributedBody` has it. */
export function bodyColumns(
  runs: readonly BodyRun[],
  form: 'attributed' | 'text' | 'both' = 'attributed',
): Columns {
  return {
    ...(form !== 'text' && { attributedBody: encodeBody(runs) }),
    ...(form !== 'attributed' && { text: runs.map((run) => run.text).join('') }),
  };
}

export function withoutPlaceholders(text: string): string {
  return text.replaceAll(ATTACHMENT_PLACEHOLDER, '');
}

function rowidIn(row: Readonly<Record<string, SQLOutputValue>> | undefined): number | undefined {
  return row === undefined ? undefined : Number(row['id']);
}

function contentOf({ base64 = '', bytes }: Pick<NewAttachment, 'base64' | 'bytes'>): Uint8Array {
  return bytes ?? Buffer.from(base64, 'base64');
}

/** Nanoseconds since 2001. */
export function storeDate(ms: number): bigint {
  return BigInt(ms - MACOS_EPOCH_MS) * 1_000_000n;
}

function valuesOf(names: readonly string[], values: Columns): SQLInputValue[] {
  return names.map((name) => {
    const value = values[name] ?? null;
    return isBase64(value) ? Buffer.from(value.base64, 'base64') : value;
  });
}

function isBase64(value: Columns[string]): value is { readonly base64: string } {
  return typeof value === 'object' && value !== null && 'base64' in value;
}

function randomDigits(): string {
  return String(BigInt(`0x${randomUUID().replaceAll('-', '').slice(0, 15)}`));
}
