import { randomUUID } from 'node:crypto';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { SQLInputValue } from 'node:sqlite';

import { ChatDb } from './chat-db.ts';
import { chatIdOf } from './chat-ids.ts';
import type { Chat, RowGuard, ServiceName } from './messages.ts';
import { columnsOf, prepareSimulatedStore } from './simulated-schema.ts';
import { Statements } from './statements.ts';
import type { StoreMemory } from './store-generation.ts';
import type { TapbackKind } from './tapbacks.ts';
import { tapbackCode } from './tapbacks.ts';

const MACOS_EPOCH_MS = Date.UTC(2001, 0, 1);
const GROUP_STYLE = 43;
const DIRECT_STYLE = 45;
const ATTACHMENT_PLACEHOLDER = '\uFFFC';
const TRANSFER_WAITING = 0;
const TRANSFER_FINISHED = 5;

export interface NewMessage {
  readonly chatId: number;
  /** `me`, or the handle of the sender. */
  readonly from: string;
  readonly service: ServiceName;
  readonly text: string;
  readonly effect?: string | undefined;
  readonly replyTo?: string | undefined;
  readonly voice?: boolean;
  /** False for outgoing messages until `finish`. */
  readonly finished: boolean;
  readonly attachments?: readonly NewAttachment[];
  /** The target with the prefix for its part. */
  readonly tapback?: { readonly target: string; readonly code: number; readonly emoji?: string };
  readonly event?: { readonly itemType: number; readonly action: number };
}

export interface NewAttachment {
  readonly name: string;
  readonly mime: string;
  readonly bytes: Uint8Array;
  readonly sticker?: boolean;
  readonly description?: string | undefined;
  readonly durationMs?: number | undefined;
  /** The file is not downloaded until `finishTransfers`. */
  readonly late?: boolean;
}

export interface SimulatedStoreOptions {
  readonly dir: string;
  readonly macos: string;
  readonly ownHandle: string;
  readonly memory: StoreMemory;
  readonly guard?: RowGuard | undefined;
}

/** A `chat.db` with the rows that Messages would write. */
export class SimulatedStore {
  readonly chats: ChatDb;
  readonly #db: DatabaseSync;
  readonly #sql: Statements;
  readonly #dir: string;
  readonly #now: () => number;
  #macos: string;
  /** The columns of this store, which depend on the macOS version. */
  #columns: ReadonlySet<string> = new Set();

  constructor({ dir, macos, ownHandle, memory, guard }: SimulatedStoreOptions, now: () => number) {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    const path = join(dir, 'chat.db');
    this.#dir = dir;
    this.#now = now;
    this.#db = new DatabaseSync(path);
    this.#sql = new Statements(this.#db);
    this.#macos = macos;
    this.#prepare();
    const { ino } = statSync(path);
    this.chats = new ChatDb(this.#db, {
      file: () => String(ino),
      memory,
      folders: { home: dir, messages: dir },
      ownHandles: [ownHandle],
      guard,
    });
  }

  get macos(): string {
    return this.#macos;
  }

  get macosMajor(): number {
    return Number.parseInt(this.#macos, 10);
  }

  update(macos: string): void {
    this.#macos = macos;
    this.#prepare();
  }

  directChat(handle: string, service: ServiceName): number {
    const known = this.chats.directChat(handle, service);
    if (known?.service === service) return known.id;
    return this.#insertChat(DIRECT_STYLE, '-', handle, [handle], service);
  }

  group(recipients: readonly string[], service: ServiceName): number {
    const name = `chat${BigInt(`0x${randomUUID().replaceAll('-', '').slice(0, 15)}`)}`;
    return this.#insertChat(GROUP_STYLE, '+', name, [...new Set(recipients)], service);
  }

  leave(chatId: number, handle: string): void {
    this.#sql
      .of(
        'DELETE FROM chat_handle_join WHERE chat_id = ? AND handle_id IN (SELECT ROWID FROM handle WHERE id = ?)',
      )
      .run(this.#rowidOf(chatId), handle);
  }

  insert(message: NewMessage): string {
    return this.#atomically(() => {
      const guid = randomUUID().toUpperCase();
      const date = BigInt(this.#now() - MACOS_EPOCH_MS) * 1_000_000n;
      const files = message.attachments ?? [];
      const chat = this.chats.chat(message.chatId);
      const text = ATTACHMENT_PLACEHOLDER.repeat(files.length) + message.text;
      const own = message.from === 'me';
      const columns: Record<string, SQLInputValue> = {
        guid,
        text,
        // In a direct chat an outgoing row has the recipient's handle too: only is_from_me gives the direction.
        handle_id: own ? this.#otherIn(chat, message.service) : this.#handle(message.from, message.service),
        service: message.service,
        date,
        is_from_me: own ? 1 : 0,
        is_finished: message.finished ? 1 : 0,
        is_sent: own && message.finished ? 1 : 0,
        cache_has_attachments: files.length > 0 ? 1 : 0,
        cache_roomnames: chat?.isGroup === true ? `room ${message.chatId}` : null,
        is_audio_message: message.voice === true ? 1 : 0,
        item_type: message.event?.itemType ?? 0,
        group_action_type: message.event?.action ?? 0,
        expressive_send_style_id: message.effect ?? null,
        thread_originator_guid: message.replyTo ?? null,
        thread_originator_part: message.replyTo === undefined ? null : `0:0:${message.text.length}`,
        associated_message_guid: message.tapback?.target ?? null,
        associated_message_type: message.tapback?.code ?? 0,
        ...(this.#has('associated_message_emoji')
          ? { associated_message_emoji: message.tapback?.emoji ?? null }
          : {}),
        ...(this.#has('part_count') ? { part_count: Math.max(1, files.length) } : {}),
      };
      const rowid = this.#insertRow('message', columns);
      this.#insertRow('chat_message_join', {
        chat_id: this.#rowidOf(message.chatId),
        message_id: rowid,
        message_date: date,
      });
      for (const [index, file] of files.entries()) this.#attach(rowid, guid, index, file);
      return guid;
    });
  }

  finish(guid: string, outcome: { sent: boolean; delivered: boolean; error: number }): void {
    this.#sql
      .of('UPDATE message SET is_finished = 1, is_sent = ?, is_delivered = ?, error = ? WHERE guid = ?')
      .run(outcome.sent ? 1 : 0, outcome.delivered ? 1 : 0, outcome.error, guid);
  }

  /** Returns the state that Messages shows under the bubble. */
  deliveryState(guid: string): 'sent' | 'delivered' | 'failed' {
    const row = this.#sql.of('SELECT is_from_me, is_delivered, error FROM message WHERE guid = ?').get(guid);
    if (row?.['is_from_me'] === 0) return 'delivered';
    if (row?.['error'] !== 0) return 'failed';
    return row['is_delivered'] === 1 ? 'delivered' : 'sent';
  }

  /** Adds or removes a reaction. Replaces the sender's previous reaction: the store keeps only the newest row. */
  tapback(
    chatId: number,
    from: string,
    target: string,
    tapback: TapbackKind & { readonly emoji?: string; readonly part?: number },
    action: 'add' | 'remove',
    text: string,
    service: ServiceName,
    sticker?: NewAttachment,
  ): string {
    return this.#atomically(() => {
      const raw = `p:${tapback.part ?? 0}/${target}`;
      const earlier = this.chats
        .rowsOf(chatId)
        .filter(
          (row) => row.tapback?.targetRaw === raw && (row.fromMe ? from === 'me' : row.sender === from),
        );
      for (const row of earlier) this.#sql.of('DELETE FROM message WHERE ROWID = ?').run(row.rowid);
      return this.insert({
        chatId,
        from,
        service,
        text,
        finished: true,
        tapback: {
          target: raw,
          code: tapbackCode(tapback, action),
          ...(tapback.emoji === undefined ? {} : { emoji: tapback.emoji }),
        },
        ...(sticker === undefined ? {} : { attachments: [sticker] }),
      });
    });
  }

  /** Keeps the row and its id. */
  edit(guid: string, text: string): void {
    this.#sql.of('UPDATE message SET text = ? WHERE guid = ?').run(text, guid);
    this.#touchEdited(guid);
  }

  unsend(guid: string): void {
    this.#atomically(() => {
      this.#sql
        .of(
          'DELETE FROM message_attachment_join WHERE message_id = (SELECT ROWID FROM message WHERE guid = ?)',
        )
        .run(guid);
      this.#sql
        .of("UPDATE message SET text = '', is_empty = 1, cache_has_attachments = 0 WHERE guid = ?")
        .run(guid);
      if (this.#has('part_count')) {
        this.#sql.of('UPDATE message SET part_count = 0 WHERE guid = ?').run(guid);
      }
      this.#touchEdited(guid);
    });
  }

  /** Marks the late attachments of a message as downloaded. */
  finishTransfers(guid: string): void {
    this.#sql
      .of(
        `UPDATE attachment SET transfer_state = ? WHERE ROWID IN (SELECT attachment_id FROM message_attachment_join
         WHERE message_id = (SELECT ROWID FROM message WHERE guid = ?))`,
      )
      .run(TRANSFER_FINISHED, guid);
  }

  durationOf(attachmentGuid: string): number | undefined {
    const row = this.#sql
      .of(
        'SELECT duration_ms FROM simulated_voice v JOIN attachment a ON a.ROWID = v.attachment_id WHERE a.guid = ?',
      )
      .get(attachmentGuid);
    return row === undefined ? undefined : Number(row['duration_ms']);
  }

  hasIMessage(handle: string): boolean {
    const row = this.#sql.of('SELECT has_imessage FROM simulated_person WHERE handle = ?').get(handle);
    return row?.['has_imessage'] !== 0;
  }

  setIMessage(handle: string, has: boolean): void {
    this.#sql
      .of(
        `INSERT INTO simulated_person (handle, has_imessage) VALUES (?, ?)
         ON CONFLICT (handle) DO UPDATE SET has_imessage = excluded.has_imessage`,
      )
      .run(handle, has ? 1 : 0);
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }

  #insertChat(
    style: number,
    sign: string,
    identifier: string,
    members: readonly string[],
    service: ServiceName,
  ): number {
    return this.#atomically(() => {
      // Since macOS 26 the guid names the service only if the person already has a chat on another service.
      const neutral = `any;${sign};${identifier}`;
      const taken = this.#sql.of('SELECT 1 FROM chat WHERE guid = ?').get(neutral) !== undefined;
      const guid = this.macosMajor >= 26 && !taken ? neutral : `${service};${sign};${identifier}`;
      const rowid = this.#insertRow('chat', {
        guid,
        style,
        state: 3,
        chat_identifier: identifier,
        service_name: service,
        room_name: style === GROUP_STYLE ? identifier : null,
      });
      for (const member of members) {
        this.#insertRow('chat_handle_join', { chat_id: rowid, handle_id: this.#handle(member, service) });
      }
      return chatIdOf(this.chats.generation(), rowid);
    });
  }

  #rowidOf(chatId: number): number {
    const rowid = this.chats.rowidOf(chatId);
    if (rowid === undefined) throw new Error(`There is no chat ${chatId} in this store`);
    return rowid;
  }

  #otherIn(chat: Chat | undefined, service: ServiceName): number {
    const [other] = chat?.recipients ?? [];
    return chat?.isGroup === false && other !== undefined ? this.#handle(other, service) : 0;
  }

  #handle(id: string, service: ServiceName): number {
    const known = this.#sql
      .of('SELECT ROWID AS id FROM handle WHERE id = ? AND service = ?')
      .get(id, service);
    return known === undefined ? this.#insertRow('handle', { id, service }) : Number(known['id']);
  }

  #attach(rowid: number, messageGuid: string, index: number, file: NewAttachment): void {
    const guid = file.sticker === true ? randomUUID().toUpperCase() : `at_${index}_${messageGuid}`;
    const folder = join(this.#dir, file.sticker === true ? 'StickerCache' : 'Attachments', guid);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, basename(file.name) || 'file');
    writeFileSync(path, file.bytes, { mode: 0o600 });
    const id = this.#insertRow('attachment', {
      guid,
      created_date: Math.floor((this.#now() - MACOS_EPOCH_MS) / 1000),
      filename: path,
      mime_type: file.mime,
      transfer_state: file.late === true ? TRANSFER_WAITING : TRANSFER_FINISHED,
      transfer_name: file.name,
      total_bytes: file.bytes.byteLength,
      is_sticker: file.sticker === true ? 1 : 0,
      ...(this.#has('emoji_image_short_description')
        ? { emoji_image_short_description: file.description ?? null }
        : {}),
    });
    this.#insertRow('message_attachment_join', { message_id: rowid, attachment_id: id });
    if (file.durationMs !== undefined) {
      this.#insertRow('simulated_voice', { attachment_id: id, duration_ms: file.durationMs });
    }
  }

  #insertRow(table: string, columns: Readonly<Record<string, SQLInputValue>>): number {
    const names = Object.keys(columns);
    const sql = `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`;
    return Number(this.#sql.of(sql).run(...Object.values(columns)).lastInsertRowid);
  }

  #touchEdited(guid: string): void {
    if (!this.#has('date_edited')) return;
    const date = BigInt(this.#now() - MACOS_EPOCH_MS) * 1_000_000n;
    this.#sql.of('UPDATE message SET date_edited = ? WHERE guid = ?').run(date, guid);
  }

  #prepare(): void {
    prepareSimulatedStore(this.#db, this.macosMajor);
    this.#columns = new Set([...columnsOf(this.#db, 'message'), ...columnsOf(this.#db, 'attachment')]);
  }

  #has(column: string): boolean {
    return this.#columns.has(column);
  }

  #atomically<T>(work: () => T): T {
    if (this.#db.isTransaction) return work();
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.#db.exec('COMMIT');
      return result;
    } catch (error) {
      this.#db.exec('ROLLBACK');
      throw error;
    }
  }
}
