import type { Statements } from './statements.ts';

/** Remembers the message store across restarts of the agent. */
export interface StoreMemory {
  load(): string | undefined;
  save(value: string): void;
}

const TABLES = ['message', 'chat'] as const;

interface Anchor {
  readonly table: (typeof TABLES)[number];
  readonly rowid: number;
  readonly guid: string;
}

interface Remembered {
  readonly generation: number;
  readonly file: string;
  /** The oldest and the newest message and chat of the store. */
  readonly anchors: readonly Anchor[];
}

/**
 * Numbers the stores that this Mac has had. The number grows when Messages rebuilt its store, or when the store was restored or replaced. A
 * chat id contains the number, so the id of a chat in another store is unknown and never names another conversation (M11).
 *
 * The store is the same while its file is the same and no remembered row id belongs to another message or chat. A deleted message does not
 * show another store, because Messages deletes old messages by itself.
 */
export class StoreGeneration {
  readonly #sql: Statements;
  readonly #file: () => string;
  readonly #memory: StoreMemory;
  #known: Remembered | undefined;
  #saved: string | undefined;
  /** The state of the store at the last comparison. */
  #compared: string | undefined;

  /** `file` returns an id of the store's file that differs after it was replaced. */
  constructor(sql: Statements, file: () => string, memory: StoreMemory) {
    this.#sql = sql;
    this.#file = file;
    this.#memory = memory;
    this.#saved = memory.load();
    this.#known = parse(this.#saved);
  }

  /** Compares the store with the remembered one and returns its number. */
  current(): number {
    const known = this.#known;
    // An anchor that is rolled back later, as on a full disk, would look like another store.
    if (known !== undefined && this.#sql.isWriting) return known.generation;
    const file = this.#file();
    const version = `${file} ${this.#version()}`;
    if (known !== undefined && version === this.#compared) return known.generation;
    const anchors = TABLES.flatMap((table) =>
      [this.#row(table, 'min') ?? [], this.#row(table, 'max') ?? []].flat(),
    );
    const isSame = known !== undefined && known.file === file && known.anchors.every((row) => this.#has(row));
    const generation = isSame ? known.generation : (known?.generation ?? 0) + 1;
    this.#save(format({ generation, file, anchors }), isSame);
    this.#known = { generation, file, anchors };
    this.#compared = version;
    return generation;
  }

  /**
   * Saves a generation. A new one must be saved before its chat ids are used, because another store could get the same number. Newer anchors
   * of the same store can wait until the next time.
   */
  #save(text: string, canWait: boolean): void {
    if (text === this.#saved) return;
    try {
      this.#memory.save(text);
      this.#saved = text;
    } catch (error) {
      if (!canWait) throw new Error('The generation of the message store was not saved', { cause: error });
    }
  }

  /** Returns a value that differs after every commit of this connection or another one. */
  #version(): string {
    const { data_version: others } = this.#sql.of('PRAGMA data_version').get() ?? {};
    const { own } = this.#sql.of('SELECT total_changes() AS own').get() ?? {};
    return `${Number(others)} ${Number(own)}`;
  }

  /** Whether a remembered row is still in its place, or was deleted. Row ids are never reused within one store. */
  #has({ table, rowid, guid }: Anchor): boolean {
    const found = this.#sql.of(`SELECT guid FROM ${table} WHERE ROWID = ?`).get(rowid);
    if (found !== undefined) return found['guid'] === guid;
    const last = this.#sql.of('SELECT seq FROM sqlite_sequence WHERE name = ?').get(table);
    return Number(last?.['seq'] ?? 0) >= rowid;
  }

  #row(table: Anchor['table'], which: 'min' | 'max'): Anchor | undefined {
    const row = this.#sql
      .of(`SELECT ROWID AS rowid, guid FROM ${table} WHERE ROWID = (SELECT ${which}(ROWID) FROM ${table})`)
      .get();
    return row === undefined ? undefined : { table, rowid: Number(row['rowid']), guid: String(row['guid']) };
  }
}

/** Returns the number of the store that was remembered last. */
export function rememberedGeneration(memory: StoreMemory): number | undefined {
  return parse(memory.load())?.generation;
}

const SEPARATOR = '\n';

function format({ generation, file, anchors }: Remembered): string {
  const lines = anchors.flatMap(({ table, rowid, guid }) => [table, rowid, guid]);
  return [generation, file, ...lines].join(SEPARATOR);
}

function parse(text: string | undefined): Remembered | undefined {
  if (text === undefined) return undefined;
  const [generation, file = '', ...rest] = text.split(SEPARATOR);
  const anchors: Anchor[] = [];
  for (let index = 0; index + 2 < rest.length; index += 3) {
    const table = TABLES.find((name) => name === rest[index]);
    if (table !== undefined)
      anchors.push({ table, rowid: Number(rest[index + 1]), guid: rest[index + 2] ?? '' });
  }
  return { generation: Number(generation), file, anchors };
}
