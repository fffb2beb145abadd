import { randomUUID } from 'node:crypto';
import { copyFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { createSystemClock } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';

import { copyRows, readRows } from './copy-rows.ts';
import { MessagesStore, bodyColumns, bodyRuns, storeDate } from './messages-store.ts';
import type { AttachmentRow, ChatMembers, Columns, NewAttachment } from './messages-store.ts';
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

const NO_DELAYS: Delays = {
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
  /** The row of the chat, instead of its members. */
  readonly chatRowid?: number;
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
  /** How far an own message comes. `none`: its row stays unfinished. Default: `delivered`. */
  readonly receipts?: 'none' | 'sent' | 'delivered';
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

export interface AppOptions {
  /** The folder of the store. Default: `Library/Messages` in the home directory. */
  readonly folder?: string;
  readonly clock?: Clock;
  /**
   * The store is read again after a restart: it keeps texts as plain text, only the newest row of a person's reactions to a part, and
   * tables of the simulation for what `chat.db` has no place for.
   */
  readonly standalone?: boolean;
}

/** A message whose chat is known. */
type PlacedMessage = NewMessage & { readonly chat: ChatMembers; readonly service: string };

/** Columns of a message that are written later than its row. */
interface LateColumns {
  readonly after: number;
  readonly columns: () => Columns;
}

interface Step {
  readonly after?: number;
  /** The write is that of a file, which `holdFiles` keeps back. */
  readonly isFile?: boolean;
  readonly write: () => void;
}

/**
 * Writes a `chat.db` the way Messages does: the row first; its join, body, attachments, files and receipts later, while other
 * messages arrive. Readers of the file see every intermediate state.
 */
export class MessagesApp {
  readonly store: MessagesStore;
  /** The content of every message by its guid, for the screen: the store has it encoded. */
  readonly written = new Map<string, NewMessage & { readonly chat: ChatMembers }>();
  readonly #clock: Clock;
  readonly #standalone: boolean;
  readonly #listeners = new Set<() => void>();
  readonly #closing = new AbortController();
  readonly #pending = new Set<Promise<void>>();
  #held: PromiseWithResolvers<void> | undefined;
  #heldFiles: PromiseWithResolvers<void> | undefined;
  #completed: CompletedMessage[] = [];

  /** `macos` is the major version. */
  constructor(home: string, macos: number, options: AppOptions = {}) {
    this.#clock = options.clock ?? createSystemClock({ keepAlive: true });
    this.#standalone = options.standalone ?? false;
    this.store = new MessagesStore(home, macos, options);
  }

  /** Calls the listener after each change. */
  watch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Inserts the row now, with everything that has no delay, and writes the rest after its delays. */
  write(message: NewMessage): WrittenMessage {
    return this.#change(() => this.#write(message));
  }

  #write(given: NewMessage): WrittenMessage {
    const { chatRowid, guid = randomUUID().toUpperCase() } = given;
    const known = chatRowid === undefined ? undefined : this.store.chatRow(chatRowid);
    const service = given.service ?? known?.service ?? 'iMessage';
    const chat = known ?? given.chat ?? { members: [given.from], service };
    const message = { ...given, service, chat };
    const own = message.from === 'me';
    const chatRow = chatRowid ?? this.store.chat(chat);
    const [body, lateBody] = this.#due(this.#body(message, guid));
    const [receipts, lateReceipts] = this.#due(this.#receipts(message));
    const row = this.store.message(
      {
        service,
        is_from_me: own ? 1 : 0,
        is_finished: own ? 0 : 1,
        handle_id: this.#handleOf(message),
        cache_has_attachments: (message.attachments ?? []).length > 0 ? 1 : 0,
        ...(message.date !== undefined && { date: storeDate(message.date) }),
        ...message.columns,
        ...body,
        ...receipts,
      },
      guid,
    );
    if (!this.#standalone) this.written.set(guid, message);
    this.#complete(message, guid, this.store.guidOf('chat', chatRow), lateBody);
    void this.#run(this.#columnSteps(guid, lateReceipts));
    return { ...row, chatRowid: chatRow };
  }

  /** Makes a write after a delay. `settled` waits for it. */
  later(ms: number, write: () => void): void {
    void this.#run([{ after: ms, write }]);
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
  react(
    reaction: Pick<
      NewMessage,
      'from' | 'chat' | 'chatRowid' | 'service' | 'text' | 'attachments' | 'delays'
    > & {
      readonly target: string;
      readonly code: number;
      readonly part?: number;
      readonly emoji?: string;
    },
  ): WrittenMessage {
    const { target, code, part = 0, emoji, ...message } = reaction;
    const associated_message_guid = `p:${part}/${target}`;
    return this.#change(() => {
      if (this.#standalone) this.store.deleteTapbacks(message.from, associated_message_guid);
      return this.#write({
        text: 'Reacted to a message',
        ...message,
        columns: {
          associated_message_guid,
          associated_message_type: code,
          associated_message_emoji: emoji ?? null,
        },
      });
    });
  }

  /** The sender edits a message, which keeps its row. */
  edit(guid: string, text: string): void {
    const body = bodyColumns(bodyRuns(text), this.#standalone ? 'text' : 'attributed');
    this.change({ guid, columns: { ...this.#edited(), ...body } });
    const written = this.written.get(guid);
    if (written !== undefined) this.written.set(guid, { ...written, text });
  }

  /** The sender unsends a message, which keeps its row. */
  unsend(guid: string): void {
    const columns = { ...this.#edited(), attributedBody: null, text: null, part_count: 0 };
    this.change({ guid, columns: { ...columns, message_summary_info: FIRST_PART_RETRACTED } });
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
    this.#change(() => this.store.update('message', rowid, columns));
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
    await this.#clock.sleep(ms);
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
    if (this.store.db.isOpen) this.store.close();
    for (const suffix of ['', '-wal', '-shm']) rmSync(this.store.path + suffix, { force: true });
  }

  close(): void {
    this.#closing.abort();
    this.#listeners.clear();
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

  #change<T>(work: () => T): T {
    const result = this.store.atomically(work);
    for (const listener of this.#listeners) listener();
    return result;
  }

  #edited(): Columns {
    return { date_edited: storeDate(this.#clock.now()) };
  }

  /** By guid: the rows can get other ids in the meantime. In a store that lacks the message nothing is written. */
  #complete(message: PlacedMessage, guid: string, chatGuid: string, lateBody: readonly LateColumns[]): void {
    const delays = { ...NO_DELAYS, ...message.delays };
    let joinedAt = 0;
    const writeJoins = (): void => {
      this.#writeJoins(message, guid, chatGuid);
      joinedAt = this.#clock.now();
    };
    const content = [
      this.#run([{ after: delays.join, write: writeJoins }]),
      this.#run(this.#columnSteps(guid, lateBody)),
      ...this.#attachments(message, guid, delays).map((steps) => this.#run(steps)),
    ].filter((waits) => waits !== undefined);
    const complete = (): void => void this.#completed.push({ guid, at: this.#clock.now(), joinedAt });
    if (content.length === 0) complete();
    else void this.#track(Promise.all(content).then(complete));
    if (message.linkPreview === true)
      void this.#run([{ after: delays.preview, write: () => this.#writePreview(message, guid, chatGuid) }]);
  }

  /** Returns the columns that are written with the row, and those that are written later. */
  #due(steps: readonly LateColumns[]): [columns: Columns, later: readonly LateColumns[]] {
    const late = steps.findIndex(({ after }) => after > 0 || this.#held !== undefined);
    const due = late < 0 ? steps : steps.slice(0, late);
    return [Object.assign({}, ...due.map(({ columns }) => columns())), late < 0 ? [] : steps.slice(late)];
  }

  #columnSteps(guid: string, late: readonly LateColumns[]): Step[] {
    return late.map(({ after, columns }) => ({
      after,
      write: () => {
        const rowid = this.store.rowidOf('message', guid);
        if (rowid !== undefined) this.store.update('message', rowid, columns());
      },
    }));
  }

  /** Makes writes one after another. Those that need not wait are made before it returns; returns when the others will be. */
  #run(steps: readonly Step[]): Promise<void> | undefined {
    const index = steps.findIndex(
      ({ after = 0, isFile }) =>
        after > 0 || this.#held !== undefined || (isFile === true && this.#heldFiles !== undefined),
    );
    const now = index < 0 ? steps : steps.slice(0, index);
    for (const { write } of now) write();
    return index < 0 ? undefined : this.#track(this.#runLater(steps.slice(index)));
  }

  async #runLater(steps: readonly Step[]): Promise<void> {
    const { signal } = this.#closing;
    for (const { after = 0, isFile, write } of steps) {
      if (after > 0) await this.#clock.sleep(after, signal);
      while (this.#held !== undefined) await this.#held.promise;
      if (isFile === true) await this.#heldFiles?.promise;
      if (signal.aborted) return;
      this.#change(write);
    }
  }

  #track(work: Promise<void>): Promise<void> {
    const tracked = work.finally(() => this.#pending.delete(tracked));
    this.#pending.add(tracked);
    return tracked;
  }

  /** An own row in a direct chat has the handle of the recipient: only is_from_me gives the direction. */
  #handleOf({ from, chat, service }: PlacedMessage): number {
    if (from !== 'me') return this.store.handle(from, service);
    const [recipient, ...others] = chat.members;
    return recipient === undefined || others.length > 0 ? 0 : this.store.handle(recipient, service);
  }

  #writeJoins({ joins = 1 }: NewMessage, guid: string, chatGuid: string): void {
    const [rowid, chat] = [this.store.rowidOf('message', guid), this.store.rowidOf('chat', chatGuid)];
    if (rowid === undefined || chat === undefined) return;
    if (joins > 0) this.store.join(chat, rowid);
    if (joins === 2) this.store.join(this.store.chat({ members: ['+15550009999'], service: 'SMS' }), rowid);
  }

  #body(message: PlacedMessage, guid: string): LateColumns[] {
    const { text = '', attachments = [], bodyForm = this.#standalone ? 'text' : 'attributed' } = message;
    if (bodyForm === 'none') return [];
    const files = attachments.map((_, index) => ({ guid: attachmentGuid(guid, index) }));
    const columns = (): Columns => bodyColumns(message.runs ?? bodyRuns(text, files), bodyForm);
    return [{ after: message.delays?.body ?? 0, columns }];
  }

  /** The attachment rows, their files and their states. */
  #attachments({ attachments = [] }: NewMessage, guid: string, delays: Delays): Step[][] {
    return attachments.map((attachment, index) => {
      let row: AttachmentRow | undefined;
      const insert = (): void => {
        const rowid = this.store.rowidOf('message', guid);
        if (rowid !== undefined) row = this.store.attachment(rowid, guid, index, attachment);
      };
      const writeFile = (): void => {
        if (row !== undefined) this.store.writeFile(row.file, attachment);
      };
      const finish = (): void => {
        const present = this.store.rowidOf('attachment', attachmentGuid(guid, index));
        if (present !== undefined) this.store.finishTransfer(present);
      };
      return [
        { after: delays.attachments, write: insert },
        { after: delays.file, isFile: true, write: writeFile },
        { after: attachment.delayMs ?? delays.transfer, write: finish },
      ];
    });
  }

  /** The preview has a body with the link, a payload, and an attachment that is not for people. */
  #writePreview(message: PlacedMessage, guid: string, chatGuid: string): void {
    const { from, text = '', service } = message;
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
      ...bodyColumns(bodyRuns(/https?:\S+/.exec(text)?.[0] ?? text)),
    });
    this.store.join(chat, preview.rowid);
    const file = { name: `${preview.guid}.pluginPayloadAttachment`, mime: '', base64: 'AAAA' };
    const row = this.store.attachment(preview.rowid, preview.guid, 0, {
      ...file,
      columns: { hide_attachment: 1, mime_type: null },
    });
    this.store.writeFile(row.file, file);
    this.store.finishTransfer(row.rowid);
  }

  #receipts(message: PlacedMessage): LateColumns[] {
    const { from, error = 0, service, chat, receipts = 'delivered', delays = {} } = message;
    if (from !== 'me' || receipts === 'none') return [];
    const sent = {
      after: delays.sent ?? 0,
      columns: () => ({ is_finished: 1, is_sent: error === 0 ? 1 : 0, error }),
    };
    // Only direct iMessage chats have delivery receipts.
    const hasReceipt = error === 0 && service === 'iMessage' && chat.members.length <= 1;
    if (receipts === 'sent' || !hasReceipt) return [sent];
    const columns = () => ({ is_delivered: 1, date_delivered: storeDate(this.#clock.now()) });
    return [sent, { after: delays.delivered ?? 0, columns }];
  }
}

/** The binary property list `{ rp: [0] }`: the first part was unsent. */
const FIRST_PART_RETRACTED = Buffer.concat([
  Buffer.from('bplist00'),
  Buffer.from('d10102527270a1031000080b0e10', 'hex'),
  Buffer.from(`${'00'.repeat(6)}0101${'00'.repeat(7)}04${'00'.repeat(8)}${'00'.repeat(7)}12`, 'hex'),
]);

function attachmentGuid(messageGuid: string, index: number): string {
  return `at_${index}_${messageGuid}`;
}
