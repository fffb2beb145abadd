import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';

import { openChatDb } from './chat-db.ts';
import type { MacosVersion } from './chat-db.ts';
import { encodeBody } from './typed-stream.ts';
import type { BodyRun } from './typed-stream.ts';

const MACOS_EPOCH_MS = Date.UTC(2001, 0, 1);
/** The number of the Mac's owner. */
const OWN_HANDLE = '+15550100000';
const GROUP_STYLE = 43;
const DIRECT_STYLE = 45;
const TRANSFER_WAITING = 0;
const TRANSFER_FINISHED = 5;
const ATTACHMENT_PLACEHOLDER = '\uFFFC';

/** Values by column. Bytes from another process are written as `{ base64 }`. */
export type Columns = Readonly<Record<string, SQLInputValue | { readonly base64: string }>>;

export interface ChatMembers {
  /** The other members. More than one makes a group. */
  readonly members: readonly string[];
  readonly service: string;
  /** Creates a second chat even if one with these members exists. */
  readonly twin?: boolean;
}

/** How `attachment.filename` is written. Messages uses all of them. */
export type PathForm = 'tilde' | 'absolute' | 'relative' | 'null';

export interface NewAttachment {
  readonly name: string;
  readonly mime: string;
  readonly base64: string;
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
  readonly macos: MacosVersion;
  #db: DatabaseSync;
  readonly #columns = new Map<string, ReadonlySet<string>>();

  /** `home` is the home directory of the Mac's owner. */
  constructor(home: string, macos: MacosVersion) {
    this.folder = join(home, 'Library/Messages');
    this.macos = macos;
    mkdirSync(this.folder, { recursive: true });
    this.#db = openChatDb(this.path, macos);
  }

  get path(): string {
    return join(this.folder, 'chat.db');
  }

  get db(): DatabaseSync {
    return this.#db;
  }

  close(): void {
    this.#db.close();
  }

  /** Opens the file again, after it was replaced. */
  reopen(): void {
    if (this.#db.isOpen) this.#db.close();
    this.#columns.clear();
    this.#db = openChatDb(this.path, this.macos);
  }

  handle(id: string, service: string): number {
    const known = this.#db
      .prepare('SELECT ROWID AS id FROM handle WHERE id = ? AND service = ?')
      .get(id, service);
    return known === undefined ? this.insert('handle', { id, service }) : Number(known['id']);
  }

  /** Returns the chat with these members, creating it if necessary. */
  chat({ members, service, twin = false }: ChatMembers): number {
    const known = twin ? undefined : this.#findChat(members, service);
    if (known !== undefined) return known;
    const isGroup = members.length > 1;
    const identifier = isGroup ? `chat${randomDigits()}` : (members[0] ?? '');
    const prefix = this.macos >= 26 ? 'any' : service;
    const chat = this.insert('chat', {
      guid: `${prefix};${isGroup ? '+' : '-'};${identifier}${twin && !isGroup ? `#${randomDigits()}` : ''}`,
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
  }

  /** Inserts a message row that belongs to no chat and has no body yet. */
  message(columns: Columns, guid = randomUUID().toUpperCase()): { rowid: number; guid: string } {
    const defaults = { date: storeDate(Date.now()), is_finished: 1, part_count: 1 };
    return { rowid: this.insert('message', { ...defaults, ...columns, guid }), guid };
  }

  join(chat: number, message: number): void {
    const date = this.#db.prepare('SELECT date FROM message WHERE ROWID = ?');
    date.setReadBigInts(true);
    this.insert('chat_message_join', {
      chat_id: chat,
      message_id: message,
      message_date: date.get(message)?.['date'] ?? 0,
    });
  }

  /** Writes the body. From macOS 13 on `text` is usually NULL and only `attributedBody` has it. */
  body(message: number, runs: readonly BodyRun[], form: 'attributed' | 'text' | 'both' = 'attributed'): void {
    this.update('message', message, {
      ...(form !== 'text' && { attributedBody: encodeBody(runs) }),
      ...(form !== 'attributed' && { text: runs.map((run) => run.text).join('') }),
    });
  }

  /** Inserts an attachment that waits for its file. */
  attachment(message: number, messageGuid: string, index: number, file: NewAttachment): AttachmentRow {
    const guid = `at_${index}_${messageGuid}`;
    const place = join(
      'Library/Messages/Attachments',
      messageGuid.slice(0, 2).toLowerCase(),
      guid,
      file.name,
    );
    const home = join(this.folder, '../..');
    const path = join(home, place);
    const forms = { tilde: `~/${place}`, absolute: path, relative: place, null: null };
    const rowid = this.insert('attachment', {
      guid,
      original_guid: guid,
      created_date: Math.floor((Date.now() - MACOS_EPOCH_MS) / 1000),
      filename: forms[file.path ?? 'tilde'],
      mime_type: file.mime,
      transfer_name: file.name,
      total_bytes: Buffer.byteLength(file.base64, 'base64'),
      transfer_state: TRANSFER_WAITING,
      ...file.columns,
    });
    this.insert('message_attachment_join', { message_id: message, attachment_id: rowid });
    return { rowid, guid, file: path };
  }

  writeFile(path: string, base64: string): void {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, Buffer.from(base64, 'base64'));
  }

  finishTransfer(attachment: number): void {
    this.update('attachment', attachment, { transfer_state: TRANSFER_FINISHED });
  }

  /** Returns the row of a guid, which can change when the store is rebuilt. */
  rowidOf(table: 'message' | 'chat' | 'attachment', guid: string): number | undefined {
    const row = this.#db.prepare(`SELECT ROWID AS id FROM ${table} WHERE guid = ?`).get(guid);
    return row === undefined ? undefined : Number(row['id']);
  }

  guidOf(table: 'message' | 'chat' | 'attachment', rowid: number): string {
    return String(this.#db.prepare(`SELECT guid FROM ${table} WHERE ROWID = ?`).get(rowid)?.['guid']);
  }

  /** Inserts a row. Columns that this macOS version lacks are left out. */
  insert(table: string, values: Columns): number {
    const names = this.#present(table, values);
    const sql = `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`;
    return Number(this.#db.prepare(sql).run(...valuesOf(names, values)).lastInsertRowid);
  }

  update(table: string, rowid: number, values: Columns): void {
    const names = this.#present(table, values);
    if (names.length === 0) return;
    const sql = `UPDATE ${table} SET ${names.map((name) => `${name} = ?`).join(', ')} WHERE ROWID = ?`;
    this.#db.prepare(sql).run(...valuesOf(names, values), rowid);
  }

  #findChat(members: readonly string[], service: string): number | undefined {
    const wanted = [...members].sort().join('\n');
    const rows = this.#db
      .prepare(
        `SELECT c.ROWID AS id, group_concat(h.id, char(10) ORDER BY h.id) AS members
         FROM chat c JOIN chat_handle_join j ON j.chat_id = c.ROWID JOIN handle h ON h.ROWID = j.handle_id
         WHERE c.style = ? AND (c.service_name = ? OR ?) GROUP BY c.ROWID`,
      )
      .all(members.length > 1 ? GROUP_STYLE : DIRECT_STYLE, service, this.macos >= 26 ? 1 : 0);
    const found = rows.find((row) => row['members'] === wanted);
    return found === undefined ? undefined : Number(found['id']);
  }

  #present(table: string, values: Columns): string[] {
    let columns = this.#columns.get(table);
    if (columns === undefined) {
      const rows = this.#db.prepare('SELECT name FROM pragma_table_info(?)').all(table);
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
