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
  Recorded,
  StepName,
} from './journal.ts';
import { createReader } from './sql-reader.ts';
import { RecentEvents } from './recent-events.ts';
import { createWriteBatch } from './sql-write-behind.ts';
import type { Batch, UnwrittenChange, WriteBatch, WrittenStep } from './sql-write-behind.ts';

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
  readonly #orphans = new Map<string, { change: UnwrittenChange; tries: number }>();
  #batch = emptyBatch();
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
    const state = recorded.state ?? (entry.direction === 'inbound' ? 'received' : 'accepted');
    const code = recorded.code ?? null;
    this.#batch.messages.set(entry.id, { entry, createdAt: now, state, code, updatedAt: now });
    this.#batch.changes.delete(entry.id);
    this.#recent.introduce(entry);
    this.#step(now, entry.id, step, recorded);
  }

  step(id: string, step: StepName, recorded: Recorded = NOTHING): void {
    const now = this.#clock.now();
    const { state } = recorded;
    if (state !== undefined) {
      const code = recorded.code ?? null;
      const opened = this.#batch.messages.get(id);
      if (opened !== undefined) Object.assign(opened, { state, code, updatedAt: now });
      else this.#batch.changes.set(id, { state, code, updatedAt: now });
    }
    this.#step(now, id, step, recorded);
  }

  #step(at: number, messageId: string, step: StepName, recorded: Recorded): void {
    const detail = detailOf(recorded);
    const written: WrittenStep = detail === undefined ? [at, step] : [at, step, detail];
    const known = this.#batch.steps.get(messageId);
    if (known !== undefined) known.steps.push(written);
    else this.#batch.steps.set(messageId, { messageId, seq: this.#seq++, steps: [written] });
    this.#recent.add(at, messageId, step, recorded);
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
    this.#batch = emptyBatch();
    this.#unwritten = 0;
    for (const [id, { change }] of this.#orphans) if (!batch.changes.has(id)) batch.changes.set(id, change);
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
      const change = batch.changes.get(id);
      const tries = (before.get(id)?.tries ?? 0) + 1;
      if (change !== undefined && tries < ORPHAN_TRIES) this.#orphans.set(id, { change, tries });
    }
  }

  #putBack(batch: Batch): void {
    const newer = this.#batch;
    const { messages, changes, steps } = batch;
    for (const [id, message] of newer.messages) messages.set(id, message);
    for (const [id, change] of newer.changes) {
      const opened = messages.get(id);
      if (opened !== undefined) Object.assign(opened, change);
      else changes.set(id, change);
    }
    for (const [id, later] of newer.steps) {
      const earlier = steps.get(id);
      if (earlier !== undefined) earlier.steps.push(...later.steps);
      else steps.set(id, later);
    }
    const dropped = [messages, changes, steps].map((map) => dropOldest(map, MOST_MESSAGES));
    if (dropped.some((count) => count > 0))
      this.#log.warn({ dropped: Math.max(...dropped) }, 'the journal drops its oldest unwritten messages');
    this.#batch = batch;
    this.#unwritten = steps.size;
  }

  list(query: MessageQuery) {
    return this.#read(() => this.#reader.list(query));
  }

  show(id: string) {
    return this.#read(() => this.#reader.show(id));
  }

  async locationOf(requestId: string) {
    const unwritten = this.#batch.messages.get(requestId);
    return unwritten?.entry.locationId ?? (await this.told(requestId))?.locationId;
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

const emptyBatch = (): Batch => ({ messages: new Map(), changes: new Map(), steps: new Map() });

/** Answers how many. */
function dropOldest(map: Map<string, unknown>, most: number): number {
  const tooMany = Math.max(0, map.size - most);
  for (const id of [...map.keys()].slice(0, tooMany)) map.delete(id);
  return tooMany;
}
