import { copyFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { MacosVersion } from './chat-db.ts';
import { copyRows, readRows } from './copy-rows.ts';
import { MessagesStore, bodyRuns, storeDate } from './messages-store.ts';
import type { ChatMembers, Columns, NewAttachment } from './messages-store.ts';
import type { BodyRun } from './typed-stream.ts';

/** How long after its row each part of a message is written, in milliseconds. */
export interface Delays {
  readonly join: number;
  readonly body: number;
  /** The attachment rows. */
  readonly attachments: number;
  /** The file on disk, after its attachment row. */
  readonly file: number;
  /** `transfer_state`, after the file. */
  readonly transfer: number;
  /** The row of the link preview. */
  readonly preview: number;
  /** `is_sent`, of an own message. */
  readonly sent: number;
  /** `is_delivered`, after `is_sent`. */
  readonly delivered: number;
}

export const NO_DELAYS: Delays = {
  join: 0,
  body: 0,
  attachments: 0,
  file: 0,
  transfer: 0,
  preview: 0,
  sent: 0,
  delivered: 0,
};

export interface NewMessage {
  /** A handle, or `me` for a message that the owner sends from this Mac or from a phone. */
  readonly from: string;
  /** Default: the direct chat with the sender. */
  readonly chat?: ChatMembers;
  readonly text?: string;
  readonly service?: string;
  readonly attachments?: readonly NewAttachment[];
  /** Replaces the runs made from text and attachments. */
  readonly runs?: readonly BodyRun[];
  /** Where the body is written. Default: `attributed`. `none`: it never comes. */
  readonly bodyForm?: 'attributed' | 'text' | 'both' | 'none';
  /** Adds the second row that Messages writes for a link. */
  readonly linkPreview?: boolean;
  /** Joins the row to no chat, to one, or to two. Default: 1. */
  readonly joins?: 0 | 1 | 2;
  readonly guid?: string;
  /** Unix time in milliseconds. Default: now. */
  readonly date?: number;
  /** Other columns of the message row. They take precedence. */
  readonly columns?: Columns;
  readonly delays?: Partial<Delays>;
  /** The error of a failed send. */
  readonly error?: number;
}

export interface WrittenMessage {
  readonly guid: string;
  readonly rowid: number;
  readonly chatRowid: number;
}

/** A message whose join, body and files have all been written, and when. */
export interface CompletedMessage {
  readonly guid: string;
  readonly at: number;
  /** When it was joined to its chat. */
  readonly joinedAt: number;
}

/**
 * Writes a `chat.db` the way Messages does: the row first; its join, body, attachments, files and receipts later, while other
 * messages arrive. Readers of the file see every intermediate state.
 */
export class MessagesApp {
  readonly store: MessagesStore;
  /** The content of every message by its guid, for the screen: the store has it encoded. */
  readonly written = new Map<string, NewMessage & { readonly chat: ChatMembers }>();
  readonly #delays: Delays;
  readonly #pending = new Set<Promise<void>>();
  #held: PromiseWithResolvers<void> | undefined;
  #heldFiles: PromiseWithResolvers<void> | undefined;
  #completed: CompletedMessage[] = [];

  constructor(home: string, macos: MacosVersion, delays: Partial<Delays> = {}) {
    this.store = new MessagesStore(home, macos);
    this.#delays = { ...NO_DELAYS, ...delays };
  }

  /** Inserts the row now and writes the rest after its delays. */
  write(message: NewMessage): WrittenMessage {
    const { from, service = 'iMessage', columns = {} } = message;
    const own = from === 'me';
    const members = message.chat ?? { members: [from], service };
    const chat = this.store.chat(members);
    const row = this.store.message(
      {
        service,
        is_from_me: own ? 1 : 0,
        is_finished: own ? 0 : 1,
        handle_id: this.#handleOf(message),
        cache_has_attachments: (message.attachments ?? []).length > 0 ? 1 : 0,
        ...(message.date !== undefined && { date: storeDate(message.date) }),
        ...columns,
      },
      message.guid,
    );
    this.written.set(row.guid, { ...message, chat: members });
    this.#track(this.#complete(message, row.guid, this.store.guidOf('chat', chat)));
    return { ...row, chatRowid: chat };
  }

  /** Makes a write after a delay. `settled` waits for it. */
  later(ms: number, write: () => void): void {
    this.#track(this.#after(ms, write));
  }

  /** Keeps scheduled writes back until `release`, so that a test can look at rows that are not complete. */
  hold(): void {
    this.#held = Promise.withResolvers<void>();
  }

  /** Keeps only the files of attachments back. */
  holdFiles(): void {
    this.#heldFiles ??= Promise.withResolvers<void>();
  }

  release(): void {
    this.#held?.resolve();
    this.#held = undefined;
    this.#heldFiles?.resolve();
    this.#heldFiles = undefined;
  }

  /** Resolves when every scheduled write has been made. */
  async settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  /** Returns the messages that were completed since the last call. */
  takeCompleted(): CompletedMessage[] {
    return this.#completed.splice(0);
  }

  /** A reaction to a message, as a row of its own. */
  react(reaction: {
    from: string;
    target: string;
    code: number;
    part?: number;
    emoji?: string;
    chat?: ChatMembers;
    delays?: Partial<Delays>;
  }): WrittenMessage {
    const { target, code, part = 0, emoji, ...message } = reaction;
    return this.write({
      ...message,
      text: 'Reacted to a message',
      columns: {
        associated_message_guid: `p:${part}/${target}`,
        associated_message_type: code,
        associated_message_emoji: emoji ?? null,
      },
    });
  }

  /** The row that macOS 26 writes when a group is addressed under a wrong id: it belongs to no chat and was never sent. */
  ghost(chatIdentifier: string): { guid: string } {
    const handle_id = this.store.handle(chatIdentifier, 'SMS');
    return this.store.message({ is_from_me: 1, is_finished: 1, service: 'SMS', handle_id, text: '' });
  }

  /** Changes columns of an existing message. */
  change({ guid, columns }: { guid: string; columns: Columns }): void {
    const rowid = this.store.rowidOf('message', guid);
    if (rowid === undefined) throw new Error(`No message ${guid}`);
    this.store.update('message', rowid, columns);
  }

  /** Moves the WAL into the database and empties it, as Messages does now and then. */
  checkpoint(): void {
    this.store.db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  }

  /** Closes and reopens the store: the WAL file is removed and created again. */
  rotate(): void {
    this.store.close();
    this.store.reopen();
  }

  /** Holds an exclusive lock. */
  async lock({ ms }: { ms: number }): Promise<void> {
    this.store.db.exec('BEGIN IMMEDIATE');
    await sleep(ms);
    this.store.db.exec('COMMIT');
  }

  alter({ sql }: { sql: string }): void {
    this.store.db.exec(sql);
  }

  /** Keeps a copy of the store, to return to with `restore`. */
  backUp(): void {
    this.checkpoint();
    copyFileSync(this.store.path, this.#copy);
  }

  /** Replaces the store by the copy: rows that came later are gone and their numbers are given out again. */
  restore(): void {
    this.#replace(() => copyFileSync(this.#copy, this.#next));
  }

  /** Replaces the store by an empty one, as on a new Mac or after iCloud was reset. */
  rebuild(): void {
    this.#replace(() => undefined);
    this.written.clear();
  }

  /**
   * Replaces the store by a new one with the newest messages, as after iCloud synced them again. All row ids differ, and a reader
   * sees the rows come back one by one.
   */
  resync({ newest }: { newest: number }): void {
    const rows = readRows(this.store.db, newest);
    this.#replace(() => undefined);
    copyRows(rows, this.store);
  }

  /** Overwrites the file with bytes that are not a database. */
  damage(): void {
    this.#replace(() => writeFileSync(this.#next, 'not a database'.repeat(1000)), false);
  }

  /** Removes the store. */
  remove(): void {
    this.close();
    for (const suffix of ['', '-wal', '-shm']) rmSync(this.store.path + suffix, { force: true });
  }

  close(): void {
    if (this.store.db.isOpen) this.store.close();
  }

  get #next(): string {
    return join(this.store.folder, 'next.db');
  }

  get #copy(): string {
    return join(this.store.folder, 'copy.db');
  }

  #replace(prepare: () => void, reopen = true): void {
    this.remove();
    prepare();
    try {
      renameSync(this.#next, this.store.path);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    }
    if (reopen) this.store.reopen();
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#pending.delete(tracked));
    this.#pending.add(tracked);
  }

  /** By guid: the rows can get other ids in the meantime. In a store that lacks the message nothing is written. */
  async #complete(message: NewMessage, guid: string, chatGuid: string): Promise<void> {
    const delays = { ...this.#delays, ...message.delays };
    let joinedAt = 0;
    const content = Promise.all([
      this.#after(delays.join, () => {
        this.#writeJoins(message, guid, chatGuid);
        joinedAt = Date.now();
      }),
      this.#after(delays.body, () => this.#writeBody(message, guid)),
      this.#writeAttachments(message, guid, delays),
    ]).then(() => void this.#completed.push({ guid, at: Date.now(), joinedAt }));
    await Promise.all([
      content,
      message.linkPreview === true &&
        this.#after(delays.preview, () => this.#writePreview(message, guid, chatGuid)),
      message.from === 'me' && this.#writeReceipts(message, guid, delays),
    ]);
  }

  /** An own row in a direct chat has the handle of the recipient: only is_from_me gives the direction. */
  #handleOf({ from, chat, service = 'iMessage' }: NewMessage): number {
    if (from !== 'me') return this.store.handle(from, service);
    const [recipient, ...others] = chat?.members ?? [];
    return recipient === undefined || others.length > 0 ? 0 : this.store.handle(recipient, service);
  }

  #writeJoins({ joins = 1 }: NewMessage, guid: string, chatGuid: string): void {
    const [rowid, chat] = [this.store.rowidOf('message', guid), this.store.rowidOf('chat', chatGuid)];
    if (rowid === undefined || chat === undefined) return;
    if (joins > 0) this.store.join(chat, rowid);
    if (joins === 2) this.store.join(this.store.chat({ members: ['+15550009999'], service: 'SMS' }), rowid);
  }

  #writeBody(message: NewMessage, guid: string): void {
    const { text = '', attachments = [], bodyForm = 'attributed' } = message;
    const rowid = this.store.rowidOf('message', guid);
    if (bodyForm === 'none' || rowid === undefined) return;
    const files = attachments.map((_, index) => ({ guid: attachmentGuid(guid, index) }));
    this.store.body(rowid, message.runs ?? bodyRuns(text, files), bodyForm);
  }

  async #writeAttachments(message: NewMessage, guid: string, delays: Delays): Promise<void> {
    const { attachments = [] } = message;
    if (attachments.length === 0) return;
    await this.#wait(delays.attachments);
    for (const [index, attachment] of attachments.entries()) {
      const rowid = this.store.rowidOf('message', guid);
      if (rowid === undefined) return;
      const row = this.store.attachment(rowid, guid, index, attachment);
      await this.#wait(delays.file);
      await this.#heldFiles?.promise;
      this.store.writeFile(row.file, attachment.base64);
      await this.#wait(delays.transfer);
      const present = this.store.rowidOf('attachment', row.guid);
      if (present !== undefined) this.store.finishTransfer(present);
    }
  }

  /** The preview has a body with the link, a payload, and an attachment that is not for people. */
  #writePreview(message: NewMessage, guid: string, chatGuid: string): void {
    const { from, text = '', service = 'iMessage' } = message;
    const chat = this.store.rowidOf('chat', chatGuid);
    if (chat === undefined) return;
    const preview = this.store.message({
      service,
      is_from_me: from === 'me' ? 1 : 0,
      handle_id: this.#handleOf(message),
      balloon_bundle_id: 'com.apple.messages.URLBalloonProvider',
      payload_data: Buffer.from('bplist00'),
      reply_to_guid: guid,
      cache_has_attachments: 1,
    });
    this.store.join(chat, preview.rowid);
    this.store.body(preview.rowid, bodyRuns(/https?:\S+/.exec(text)?.[0] ?? text));
    const file = { name: `${preview.guid}.pluginPayloadAttachment`, mime: '', base64: 'AAAA' };
    const row = this.store.attachment(preview.rowid, preview.guid, 0, {
      ...file,
      columns: { hide_attachment: 1, mime_type: null },
    });
    this.store.writeFile(row.file, file.base64);
    this.store.finishTransfer(row.rowid);
  }

  async #wait(ms: number): Promise<void> {
    if (ms > 0) await sleep(ms);
    while (this.#held !== undefined) await this.#held.promise;
  }

  async #after(ms: number, write: () => void): Promise<void> {
    await this.#wait(ms);
    write();
  }

  async #writeReceipts(message: NewMessage, guid: string, delays: Delays): Promise<void> {
    const { error = 0, service = 'iMessage', chat } = message;
    const update = (columns: Columns): void => {
      const rowid = this.store.rowidOf('message', guid);
      if (rowid !== undefined) this.store.update('message', rowid, columns);
    };
    await this.#wait(delays.sent);
    update({ is_finished: 1, is_sent: error === 0 ? 1 : 0, error });
    // Only direct iMessage chats have delivery receipts.
    if (error !== 0 || service !== 'iMessage' || (chat?.members.length ?? 1) > 1) return;
    await this.#wait(delays.delivered);
    update({ is_delivered: 1, date_delivered: storeDate(Date.now()) });
  }
}

function attachmentGuid(messageGuid: string, index: number): string {
  return `at_${index}_${messageGuid}`;
}
