import { newRequestId } from '@footbridge/protocol/ids';

import type { Clock } from '../../clock.ts';
import { EngineError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { OpenDatabase } from '../../sql/open-database.ts';
import type {
  Journal,
  JournalEntry,
  JournalEvent,
  JournalFeed,
  JournalReader,
  MessageQuery,
  MessageState,
  Recorded,
  StepName,
} from './journal.ts';
import { createReader } from './sql-reader.ts';
import { RecentEvents } from './recent-events.ts';
import { createWriteBatch } from './sql-write-behind.ts';
import type { Batch, Unwritten, WriteBatch } from './sql-write-behind.ts';

export interface SqlJournal extends Journal, JournalReader, JournalFeed {
  /** Forgets messages older than that; answers how many. */
  prune(olderThanMs: number): Promise<number>;
  /** Writes what is left. */
  close(): Promise<void>;
}

export interface SqlJournalOptions {
  readonly database: Pick<OpenDatabase, 'db'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly flushMs?: number;
}

const FLUSH_STEPS = 500;
const MOST_MESSAGES = 20_000;
/** How often a change waits for the node that opened its message to write it. */
const ORPHAN_TRIES = 25;
const NOTHING: Recorded = {};

export function createSqlJournal(options: SqlJournalOptions): SqlJournal {
  return new WrittenBehind(options);
}

class WrittenBehind implements SqlJournal {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #flushMs: number;
  readonly #write: WriteBatch;
  readonly #reader: ReturnType<typeof createReader>;
  readonly #recent: RecentEvents;
  readonly #orphans = new Map<string, { change: Unwritten; tries: number }>();
  #batch: Batch = new Map();
  #unwritten = 0;
  #seq = 0;
  #cancelFlush: (() => void) | undefined;
  #flushing: Promise<void> | undefined;
  #failing = false;
  #closed = false;

  constructor({ database, clock, log, flushMs = 200 }: SqlJournalOptions) {
    this.#clock = clock;
    this.#log = log;
    this.#flushMs = flushMs;
    this.#write = createWriteBatch(database.db);
    this.#reader = createReader(database.db);
    this.#recent = new RecentEvents(clock.now().toString(36));
  }

  open(entry: JournalEntry, step: StepName, recorded: Recorded = NOTHING): void {
    const now = this.#clock.now();
    const unwritten = this.#unwrittenOf(entry.id);
    unwritten.entry = entry;
    unwritten.createdAt = now;
    const state = recorded.state ?? (entry.direction === 'inbound' ? 'received' : 'accepted');
    turn(unwritten, now, state, recorded.code);
    this.#recent.introduce(entry);
    this.#step(now, unwritten, step, recorded);
  }

  step(id: string, step: StepName, recorded: Recorded = NOTHING): void {
    const now = this.#clock.now();
    const unwritten = this.#unwrittenOf(id);
    if (recorded.state !== undefined) turn(unwritten, now, recorded.state, recorded.code);
    this.#step(now, unwritten, step, recorded);
  }

  #unwrittenOf(id: string): Unwritten {
    const known = this.#batch.get(id);
    if (known !== undefined) return known;
    const fresh: Unwritten = {
      id,
      seq: this.#nextSeq(),
      entry: undefined,
      createdAt: 0,
      state: undefined,
      code: null,
      updatedAt: 0,
      steps: [],
    };
    this.#batch.set(id, fresh);
    return fresh;
  }

  /** Tells two accounts of one millisecond apart; begins anew before the column ends. */
  #nextSeq(): number {
    this.#seq = (this.#seq + 1) % 2 ** 31;
    return this.#seq;
  }

  #step(at: number, { id, steps }: Unwritten, step: StepName, recorded: Recorded): void {
    const detail = detailOf(recorded);
    steps.push(detail === undefined ? [at, step] : [at, step, detail]);
    this.#recent.add(at, id, step, recorded);
    this.#unwritten++;
    if (this.#unwritten === FLUSH_STEPS) this.#flushSoon(0);
    else if (this.#cancelFlush === undefined) this.#flushSoon(this.#flushMs);
  }

  #flushSoon(ms: number): void {
    this.#cancelFlush?.();
    this.#cancelFlush = this.#clock.after(ms, () => {
      this.#cancelFlush = undefined;
      void this.#flush();
    });
  }

  /** One at a time; who comes meanwhile waits for the next one, which takes everything along. */
  async #flush(): Promise<void> {
    while (this.#flushing !== undefined) await this.#flushing;
    if (this.#unwritten === 0 && this.#orphans.size === 0) return;
    this.#flushing = this.#writeOut().finally(() => {
      this.#flushing = undefined;
    });
    await this.#flushing;
  }

  async #writeOut(): Promise<void> {
    const batch = this.#batch;
    this.#batch = new Map();
    this.#unwritten = 0;
    for (const { change } of this.#orphans.values()) join(batch, change, batch.get(change.id));
    try {
      this.#keepOrphans(await this.#write(batch), batch);
      if (this.#failing) this.#log.info({}, 'the journal is written again');
      this.#failing = false;
    } catch (error) {
      if (!this.#failing)
        this.#log.warn({ err: error }, 'the journal cannot be written; it is kept in memory');
      this.#failing = true;
      this.#putBack(batch);
    }
    if (this.#unwritten > 0 || this.#orphans.size > 0) this.#flushSoon(this.#flushMs);
  }

  /** The message was opened on another node which has not written it yet; after a while it never will. */
  #keepOrphans(ids: readonly string[], batch: Batch): void {
    const before = new Map(this.#orphans);
    this.#orphans.clear();
    for (const id of ids) {
      const unwritten = batch.get(id);
      const tries = (before.get(id)?.tries ?? 0) + 1;
      if (unwritten !== undefined && tries < ORPHAN_TRIES)
        this.#orphans.set(id, { change: { ...unwritten, steps: [] }, tries });
    }
  }

  #putBack(batch: Batch): void {
    for (const later of this.#batch.values()) join(batch, batch.get(later.id) ?? later, later);
    const dropped = dropOldest(batch, MOST_MESSAGES);
    if (dropped > 0) this.#log.warn({ dropped }, 'the journal drops its oldest unwritten messages');
    this.#batch = batch;
    this.#unwritten = batch.size;
  }

  list(query: MessageQuery) {
    return this.#read(() => this.#reader.list(query));
  }

  show(id: string) {
    return this.#read(() => this.#reader.show(id));
  }

  async locationOf(requestId: string) {
    const unwritten = this.#batch.get(requestId);
    return unwritten?.entry?.locationId ?? (await this.told(requestId))?.locationId;
  }

  inboundId(locationId: string, guid: string) {
    return this.#read(() => this.#reader.inboundId(locationId, guid));
  }

  told(requestId: string) {
    return this.#read(() => this.#reader.told(requestId));
  }

  async #read<T>(question: () => Promise<T>): Promise<T> {
    await this.#flush();
    try {
      return await question();
    } catch (error) {
      throw new EngineError('sql', 'the journal cannot be read', error);
    }
  }

  since(lastId: string | undefined) {
    return this.#recent.since(lastId);
  }

  listen(listener: (event: JournalEvent) => void): () => void {
    return this.#recent.listen(listener);
  }

  prune(olderThanMs: number): Promise<number> {
    const cutoff = this.#clock.now() - olderThanMs;
    return this.#reader.prune(cutoff, newRequestId(cutoff));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#flush();
    this.#cancelFlush?.();
  }
}

const detailOf = ({ code, detail }: Recorded) =>
  code === undefined || detail?.['code'] !== undefined ? detail : { ...detail, code };

function turn(unwritten: Unwritten, at: number, state: MessageState, code: string | null = null): void {
  unwritten.state = state;
  unwritten.code = code;
  unwritten.updatedAt = at;
}

/** Puts one account of both into the batch: the later one has the last word. */
function join(batch: Batch, earlier: Unwritten, later: Unwritten = earlier): void {
  if (earlier === later) return void batch.set(later.id, later);
  const { state, code, updatedAt } = later.state === undefined ? earlier : later;
  const { entry, createdAt } = later.entry === undefined ? earlier : later;
  const steps = [...earlier.steps, ...later.steps];
  batch.set(later.id, { ...earlier, entry, createdAt, state, code, updatedAt, steps });
}

/** Answers how many. */
function dropOldest(map: Map<string, unknown>, most: number): number {
  const tooMany = Math.max(0, map.size - most);
  for (const id of [...map.keys()].slice(0, tooMany)) map.delete(id);
  return tooMany;
}
