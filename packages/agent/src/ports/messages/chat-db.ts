import type { DatabaseSync } from 'node:sqlite';

import type { MessagesFolders } from './attachment-files.ts';
import { chatIdOf, chatRowOf } from './chat-ids.ts';
import { Chats } from './chats.ts';
import type { ChatRow } from './chats.ts';
import type { MessageBody } from './message-body.ts';
import type {
  Chat,
  MessageStore,
  OwnReaction,
  RowGuard,
  SendState,
  ServiceName,
  StoredRow,
  StoreState,
} from './messages.ts';
import type { RowShape } from './messages-shape.ts';
import { readOwnHandles } from './own-handles.ts';
import { Rows } from './rows.ts';
import type { MessageRow } from './rows.ts';
import { Statements } from './statements.ts';
import { rowShapeOf, tablesOf } from './store-shape.ts';
import { rememberedGeneration, StoreGeneration } from './store-generation.ts';
import type { StoreMemory } from './store-generation.ts';
import { readTapbackCode, targetsOf } from '@footbridge/protocol/tapbacks';

export interface ChatDbOptions {
  /** Returns an id of the file that differs after it was replaced. */
  readonly file: () => string;
  readonly memory: StoreMemory;
  readonly folders: MessagesFolders;
  /** Further addresses of this Mac, which the store may not name. */
  readonly ownHandles: readonly string[];
  readonly guard?: RowGuard | undefined;
}

const REACTION_COLUMNS = ['is_from_me', 'associated_message_guid', 'associated_message_type', 'date'];

/** Reads `chat.db` of any supported macOS version. */
export class ChatDb implements MessageStore {
  readonly #sql: Statements;
  readonly #generation: StoreGeneration;
  readonly #chats: Chats;
  readonly #rows: Rows;
  readonly #knownHandles: readonly string[];
  /** The generation that was remembered when the store was opened. */
  readonly #openedAs: number | undefined;
  #ownHandles: { readonly chats: number; readonly handles: readonly string[] } | undefined;

  constructor(db: DatabaseSync, options: ChatDbOptions) {
    this.#sql = new Statements(db);
    this.#generation = new StoreGeneration(this.#sql, options.file, options.memory);
    this.#chats = new Chats(this.#sql);
    this.#rows = new Rows(this.#sql, this.#chats, options.folders, options.guard);
    this.#knownHandles = options.ownHandles;
    this.#openedAs = rememberedGeneration(options.memory);
  }

  state(): StoreState {
    const opened = this.#openedAs ?? 1;
    return this.generation() > opened ? 'replaced' : 'readable';
  }

  generation(): number {
    return this.#generation.current();
  }

  newestRowid(): number {
    const row = this.#sql.of("SELECT seq FROM sqlite_sequence WHERE name = 'message'").get();
    return Number(row?.['seq'] ?? 0);
  }

  position(): number {
    return chatIdOf(this.generation(), this.newestRowid());
  }

  rowsAfter(rowid: number, limit: number): StoredRow[] {
    // Without the plus, SQLite plans the statement again for each new parameter value.
    return this.#stored(this.#rows.where('m.ROWID > +? ORDER BY m.ROWID LIMIT +?', rowid, limit));
  }

  guidsSince(time: number): string[] {
    return this.#rows.guidsSince(time);
  }

  row(rowid: number): StoredRow | undefined {
    return this.#stored(this.#rows.where('m.ROWID = ?', rowid))[0];
  }

  rowByGuid(guid: string): StoredRow | undefined {
    return this.#stored(this.#rows.where('m.guid = ?', guid))[0];
  }

  /** Returns all rows of a chat, oldest first. */
  rowsOf(chatId: number): StoredRow[] {
    const condition =
      'm.ROWID IN (SELECT message_id FROM chat_message_join WHERE chat_id = ?) ORDER BY m.ROWID';
    return this.#stored(this.#rows.where(condition, this.rowidOf(chatId) ?? null));
  }

  /** Returns the newest rows of a chat, the newest first. */
  newestRows(chatId: number, limit: number): StoredRow[] {
    const condition = `m.ROWID IN (SELECT message_id FROM chat_message_join WHERE chat_id = ? ORDER BY message_id DESC LIMIT ?)
      ORDER BY m.ROWID DESC`;
    return this.#stored(this.#rows.where(condition, this.rowidOf(chatId) ?? null, limit));
  }

  history(handle: string, limit: number): StoredRow[] {
    const chats = this.#chats.direct(handle, 'iMessage').map(({ rowid }) => rowid);
    const condition = `m.ROWID IN (SELECT message_id FROM chat_message_join WHERE chat_id IN (${chats.map(() => '?').join(', ')})
        ORDER BY message_id DESC LIMIT ?)
      ORDER BY m.ROWID DESC`;
    return this.#stored(this.#rows.where(condition, ...chats, limit)).filter((row) => row.isMessage);
  }

  body(guid: string): MessageBody | undefined {
    return this.#rows.body(guid);
  }

  chat(id: number): Chat | undefined {
    const rowid = this.rowidOf(id);
    return rowid === undefined ? undefined : this.#withId(this.#chats.byRowid(rowid));
  }

  /** Returns the row id of a chat in this store. */
  rowidOf(chatId: number): number | undefined {
    return chatRowOf(this.generation(), chatId);
  }

  /** Returns all chats, oldest first. */
  chats(): Chat[] {
    return this.#chats.all().flatMap((chat) => this.#withId(chat) ?? []);
  }

  groupOf(recipients: readonly string[], service: ServiceName): Chat | 'ambiguous' | undefined {
    const group = this.#chats.group(recipients, service);
    return group === 'ambiguous' ? group : this.#withId(group);
  }

  directChat(handle: string, service: ServiceName): Chat | undefined {
    return this.#withId(this.#chats.direct(handle, service)[0]);
  }

  ownHandles(): readonly string[] {
    const chats = Number(this.#sql.of('SELECT max(ROWID) AS newest FROM chat').get()?.['newest'] ?? 0);
    // A new account first appears with a chat.
    if (this.#ownHandles?.chats !== chats) {
      const handles = [...new Set([...this.#knownHandles, ...readOwnHandles(this.#sql)])];
      this.#ownHandles = { chats, handles };
    }
    return this.#ownHandles.handles;
  }

  ownReaction(targetGuid: string, part?: number): OwnReaction | undefined {
    const targets = targetsOf(targetGuid, part);
    if (!this.#rows.have(REACTION_COLUMNS)) return undefined;
    const [row] = this.#rows.where(
      `m.is_from_me = 1 AND m.associated_message_guid IN (${targets.map(() => '?').join(', ')})
        AND (m.associated_message_type = 1000 OR m.associated_message_type BETWEEN 2000 AND 2007
          OR m.associated_message_type BETWEEN 3000 AND 3007)
      ORDER BY m.date DESC, m.ROWID DESC LIMIT 1`,
      ...targets,
    );
    const tapback = row?.tapback === undefined ? undefined : readTapbackCode(row.tapback.type);
    if (tapback?.action !== 'add') return undefined;
    if (tapback.kind === 'classic') return { kind: 'classic', type: tapback.type };
    if (tapback.kind === 'emoji') return { kind: 'emoji', emoji: row?.tapback?.emoji };
    return { kind: 'sticker', fileName: row?.attachments[0]?.name };
  }

  /** Returns the columns by table. */
  tables(): Record<string, string[]> {
    return tablesOf(this.#sql);
  }

  /** Returns the row of a message without its content. */
  rowShape(guid: string): RowShape | undefined {
    return rowShapeOf(this.#sql, guid);
  }

  sendState(guid: string): SendState | undefined {
    return this.#rows.sendState(guid);
  }

  #stored(rows: readonly MessageRow[]): StoredRow[] {
    if (rows.length === 0) return [];
    const generation = this.generation();
    return rows.map(({ chatRowid, ...row }) => ({
      ...row,
      chatId: chatRowid === undefined ? undefined : chatIdOf(generation, chatRowid),
    }));
  }

  #withId(chat: ChatRow | undefined): Chat | undefined {
    if (chat === undefined) return undefined;
    const { rowid, ...rest } = chat;
    return { id: chatIdOf(this.generation(), rowid), ...rest };
  }
}
