import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';

import type { MessagesFolders } from '../attachment-files.ts';
import { ChatDb } from '../chat-db.ts';
import type { MessageBody } from '../message-body.ts';
import { StoreUnavailableError } from '../messages.ts';
import type {
  Chat,
  MessageStore,
  OwnReaction,
  RowGuard,
  SendState,
  ServiceName,
  StoredRow,
  StoreProblem,
  StoreState,
} from '../messages.ts';
import type { RowShape } from '../messages-shape.ts';
import type { StoreMemory } from '../store-generation.ts';
import { openStore, problemOf, storeFile } from './open-store.ts';

type Opened =
  | { readonly ok: true; readonly db: DatabaseSync; readonly file: string; readonly chats: ChatDb }
  | { readonly ok: false; readonly problem: StoreProblem };

/**
 * The store of this Mac, opened when it can be read, and again after Messages replaced its file. A reader that kept the old file open would
 * not notice the new one.
 */
export class MacStore implements MessageStore {
  readonly #path: string;
  readonly #folders: MessagesFolders;
  readonly #memory: StoreMemory;
  readonly #guard: RowGuard | undefined;
  #opened: Opened = { ok: false, problem: 'absent' };
  #seen: string | undefined;

  constructor(folders: MessagesFolders, memory: StoreMemory, guard?: RowGuard) {
    this.#path = join(folders.messages, 'chat.db');
    this.#folders = folders;
    this.#memory = memory;
    this.#guard = guard;
    this.refresh();
  }

  state(): StoreState {
    try {
      return this.#read((chats) => chats.state());
    } catch (error) {
      if (error instanceof StoreUnavailableError) return error.problem;
      throw error;
    }
  }

  /**
   * Opens the store if it is not open or its file was replaced. Returns whether its content may have changed, by the count that SQLite
   * keeps of the commits of other processes.
   */
  refresh(): boolean {
    if (!this.#opened.ok || this.#opened.file !== fileNow(this.#path)) this.#reopen();
    const before = this.#seen;
    const state = this.state();
    this.#seen = this.#opened.ok ? `${state} ${dataVersion(this.#opened.db)}` : state;
    return this.#seen !== before;
  }

  close(): void {
    if (this.#opened.ok) this.#opened.db.close();
    this.#opened = { ok: false, problem: 'absent' };
  }

  generation(): number {
    return this.#read((chats) => chats.generation());
  }

  newestRowid(): number {
    return this.#read((chats) => chats.newestRowid());
  }

  position(): number {
    return this.#read((chats) => chats.position());
  }

  sendState(guid: string): SendState | undefined {
    return this.#read((chats) => chats.sendState(guid));
  }

  rowsAfter(rowid: number, limit: number): StoredRow[] {
    return this.#read((chats) => chats.rowsAfter(rowid, limit));
  }

  guidsSince(time: number): string[] {
    return this.#read((chats) => chats.guidsSince(time));
  }

  row(rowid: number): StoredRow | undefined {
    return this.#read((chats) => chats.row(rowid));
  }

  rowByGuid(guid: string): StoredRow | undefined {
    return this.#read((chats) => chats.rowByGuid(guid));
  }

  /** Returns the newest rows of a chat, the newest first. */
  newestRows(chatId: number, limit: number): StoredRow[] {
    return this.#read((chats) => chats.newestRows(chatId, limit));
  }

  chat(id: number): Chat | undefined {
    return this.#read((chats) => chats.chat(id));
  }

  /** Returns all chats, oldest first. */
  chats(): Chat[] {
    return this.#read((chats) => chats.chats());
  }

  /** Returns the columns by table. */
  tables(): Record<string, string[]> {
    return this.#read((chats) => chats.tables());
  }

  /** Returns the row of a message without its content. */
  rowShape(guid: string): RowShape | undefined {
    return this.#read((chats) => chats.rowShape(guid));
  }

  groupOf(recipients: readonly string[], service: ServiceName): Chat | 'ambiguous' | undefined {
    return this.#read((chats) => chats.groupOf(recipients, service));
  }

  directChat(handle: string, service: ServiceName): Chat | undefined {
    return this.#read((chats) => chats.directChat(handle, service));
  }

  history(handle: string, limit: number): StoredRow[] {
    return this.#read((chats) => chats.history(handle, limit));
  }

  ownHandles(): readonly string[] {
    return this.#read((chats) => chats.ownHandles());
  }

  ownReaction(targetGuid: string, part?: number): OwnReaction | undefined {
    return this.#read((chats) => chats.ownReaction(targetGuid, part));
  }

  body(guid: string): MessageBody | undefined {
    return this.#read((chats) => chats.body(guid));
  }

  #read<T>(read: (chats: ChatDb) => T): T {
    if (!this.#opened.ok) throw new StoreUnavailableError(this.#opened.problem);
    try {
      return read(this.#opened.chats);
    } catch (error) {
      const problem = problemOf(error);
      if (problem === undefined) throw error;
      this.close();
      this.#opened = { ok: false, problem };
      throw new StoreUnavailableError(problem, { cause: error });
    }
  }

  #reopen(): void {
    this.close();
    const opened = openStore(this.#path);
    if (!opened.ok) {
      this.#opened = opened;
      return;
    }
    const { db, file } = opened;
    const options = {
      file: () => file,
      memory: this.#memory,
      folders: this.#folders,
      ownHandles: [],
      guard: this.#guard,
    };
    this.#opened = { ok: true, db, file, chats: new ChatDb(db, options) };
  }
}

function dataVersion(db: DatabaseSync): string {
  return String(db.prepare('PRAGMA data_version').get()?.['data_version']);
}

function fileNow(path: string): string | undefined {
  try {
    return storeFile(path);
  } catch {
    return undefined;
  }
}
