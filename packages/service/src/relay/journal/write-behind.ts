import { maskHandle } from '@footbridge/protocol/mask-handle';
import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';

import type { KeyedHash } from '../people/handles.ts';
import type { MessageState, NewEntry, Recorded, StepName } from './journal.ts';
import { rankOf, storedName } from './journal-sql-writer.ts';
import type { Batch, Unwritten, WriteBatch } from './journal-sql-writer.ts';
import type { RecentEvents } from './recent-events.ts';

export interface WriteBehindDeps {
  readonly write: WriteBatch;
  readonly recent: RecentEvents;
  readonly hash: KeyedHash;
  readonly clock: Clock;
  readonly log: Log;
  readonly flushMs: number;
  readonly holdMs: number;
}

/** If the service crashes before it writes a status that the CRM accepted, it reports that status again. */
const ACCEPTED_FLUSH_MS = 20;
/** Above this many changed messages, the journal is under load. */
const BUSY_MESSAGES = 50;
const BUSY_FLUSH_MS = 50;
const MAX_UNWRITTEN_MESSAGES = 20_000;
/** How long a change waits for the row of a message that another node opened. */
const MAX_ORPHAN_MS = 10_000;
/** After this time that node is considered dead. A live one writes within 250 ms. */
const OPEN_ORPHAN_MS = 2000;
const NOTHING: Recorded = {};

/**
 * Writes entries and steps in the background, in batches. `open` and `step` return immediately and never throw. While the database is
 * unavailable, changes are kept in memory; beyond a cap the oldest unwritten messages are dropped.
 */
export class WriteBehind {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #flushMs: number;
  readonly #holdMs: number;
  readonly #write: WriteBatch;
  readonly #recent: RecentEvents;
  readonly #hash: KeyedHash;
  /** Changes of messages that another node opened and has not written yet, and since when they wait. */
  #orphans = new Map<string, { readonly change: Unwritten; readonly since: number }>();
  #batch: Batch = new Map();
  #seq = 0;
  #cancelFlush: (() => void) | undefined;
  /** The delay of the flush that is due. */
  #flushInMs = 0;
  #flushing: Promise<void> | undefined;
  #nextFlush: Promise<void> | undefined;
  #failing = false;
  #closed = false;

  constructor({ write, recent, hash, clock, log, flushMs, holdMs }: WriteBehindDeps) {
    this.#write = write;
    this.#recent = recent;
    this.#hash = hash;
    this.#clock = clock;
    this.#log = log;
    this.#flushMs = flushMs;
    this.#holdMs = holdMs;
  }

  open({ handle, contactId, ...rest }: NewEntry, step: StepName, recorded: Recorded = NOTHING): void {
    const now = this.#clock.now();
    const entry = { ...rest, phoneMasked: handle === null ? null : maskHandle(handle) };
    const unwritten = this.#unwrittenOf(entry.id);
    unwritten.entry = entry;
    unwritten.handleHash = handle === null ? unwritten.handleHash : (this.#hash.handle(handle)[0] ?? null);
    unwritten.contactHash = this.#contactHash(contactId) ?? unwritten.contactHash;
    unwritten.createdAt = now;
    const state = recorded.state ?? (entry.direction === 'inbound' ? 'received' : 'accepted');
    setState(unwritten, now, state, recorded.code);
    this.#recent.addEntry(entry);
    this.#step(now, unwritten, step, recorded.state === undefined ? { ...recorded, state } : recorded);
  }

  step(id: string, step: StepName, recorded: Recorded = NOTHING): void {
    const now = this.#clock.now();
    const unwritten = this.#unwrittenOf(id);
    if (recorded.state !== undefined) setState(unwritten, now, recorded.state, recorded.code);
    if (recorded.contactId !== undefined) unwritten.contactHash = this.#contactHash(recorded.contactId);
    if (recorded.message !== undefined) unwritten.message = recorded.message;
    if (recorded.isRepeat === true && step === 'status_sent' && recorded.detail?.['status'] === 'delivered')
      unwritten.isDeliveredRepeat = true;
    this.#step(now, unwritten, step, recorded);
  }

  #contactHash(contactId: string | null): string | null {
    return contactId === null ? null : (this.#hash.contact(contactId)[0] ?? null);
  }

  #unwrittenOf(id: string): Unwritten {
    const known = this.#batch.get(id);
    if (known !== undefined) return known;
    const fresh: Unwritten = {
      id,
      seq: this.#nextSeq(),
      firstChangedAt: this.#clock.monotonic(),
      entry: undefined,
      message: undefined,
      handleHash: null,
      contactHash: null,
      createdAt: 0,
      state: undefined,
      code: null,
      updatedAt: 0,
      isDeliveredRepeat: false,
      steps: [],
    };
    this.#batch.set(id, fresh);
    return fresh;
  }

  /** Orders two rows of one millisecond. Wraps around before the 32-bit column overflows. */
  #nextSeq(): number {
    this.#seq = (this.#seq + 1) % 2 ** 31;
    return this.#seq;
  }

  #step(at: number, { id, steps }: Unwritten, step: StepName, recorded: Recorded): void {
    const detail = detailOf(recorded);
    const stored = storedName(step);
    steps.push(detail === undefined ? [at, stored] : [at, stored, detail]);
    this.#recent.add(at, id, step, recorded);
    if (this.#failing) this.#flushWithin(this.#flushMs);
    else if (this.#isBusy) this.#flushWithin(BUSY_FLUSH_MS);
    else this.#flushWithin(step === 'status_sent' ? ACCEPTED_FLUSH_MS : this.#flushMs);
  }

  #flushWithin(ms: number): void {
    if (this.#cancelFlush !== undefined && this.#flushInMs <= ms) return;
    this.#cancelFlush?.();
    this.#flushInMs = ms;
    this.#cancelFlush = this.#clock.after(ms, () => {
      this.#cancelFlush = undefined;
      // A flush that is running schedules the next one.
      if (this.#flushing === undefined) void this.#startFlush(this.#isBusy ? this.#holdMs : 0);
    });
  }

  /**
   * Writes all changes now. Never rejects: what cannot be written is kept. One flush runs at a time; all calls during a flush share the
   * next one, which includes their changes.
   */
  flush(): Promise<void> {
    if (this.#nextFlush !== undefined) return this.#nextFlush;
    if (this.#flushing === undefined) return this.#startFlush(0);
    this.#nextFlush = this.#flushing.then(() => {
      this.#nextFlush = undefined;
      return this.#startFlush(0);
    });
    return this.#nextFlush;
  }

  /** Writes the messages whose first change is at least `minAgeMs` old. */
  #startFlush(minAgeMs: number): Promise<void> {
    this.#flushing = this.#writeOut(minAgeMs).finally(() => {
      this.#flushing = undefined;
    });
    return this.#flushing;
  }

  async #writeOut(minAgeMs: number): Promise<void> {
    const batch = this.#takeOlderThan(minAgeMs);
    for (const [id, { change, since }] of this.#orphans) {
      // A copy: after a failed write the batch is kept, and gets further steps.
      merge(batch, { ...change, steps: [] }, batch.get(id));
      if (this.#closed || this.#elapsed(since) >= OPEN_ORPHAN_MS) openOrphan(batch.get(id));
    }
    if (batch.size > 0) await this.#writeBatch(batch);
    if (this.#batch.size > 0 && !this.#failing) this.#flushWithin(BUSY_FLUSH_MS);
    else if (this.#batch.size > 0 || this.#orphans.size > 0) this.#flushWithin(this.#flushMs);
  }

  async #writeBatch(batch: Batch): Promise<void> {
    try {
      this.#keepOrphans(await this.#write(batch), batch);
      if (this.#failing) this.#log.info({ event: 'journal.writable' }, 'journal writable again');
      this.#failing = false;
    } catch (error) {
      if (!this.#failing)
        this.#log.warn(
          { event: 'journal.write_failed', err: error },
          'journal not written; entries kept in memory',
        );
      this.#failing = true;
      this.#putBack(batch);
    }
  }

  get #isBusy(): boolean {
    return this.#batch.size > BUSY_MESSAGES;
  }

  /** Removes and returns the messages whose first change is at least `minAgeMs` old. */
  #takeOlderThan(minAgeMs: number): Batch {
    const all = this.#batch;
    this.#batch = new Map();
    if (minAgeMs === 0) return all;
    const older: Batch = new Map();
    for (const [id, change] of all)
      (this.#elapsed(change.firstChangedAt) >= minAgeMs ? older : this.#batch).set(id, change);
    return older;
  }

  #elapsed(since: number): number {
    return this.#clock.monotonic() - since;
  }

  /** `ids`: the changed messages that are not in the database. */
  #keepOrphans(ids: readonly string[], batch: Batch): void {
    const before = this.#orphans;
    this.#orphans = new Map();
    for (const id of ids) {
      const change = batch.get(id);
      const since = before.get(id)?.since ?? this.#clock.monotonic();
      if (change !== undefined && this.#elapsed(since) < MAX_ORPHAN_MS)
        this.#orphans.set(id, { change, since });
    }
  }

  #putBack(batch: Batch): void {
    for (const later of this.#batch.values()) merge(batch, batch.get(later.id) ?? later, later);
    const dropped = dropOldest(batch, MAX_UNWRITTEN_MESSAGES);
    if (dropped > 0)
      this.#log.warn({ event: 'journal.messages_dropped', dropped }, 'oldest unwritten messages dropped');
    this.#batch = batch;
  }

  /** Returns the location of a message that is opened but not written. */
  unwrittenLocation(id: string): string | undefined {
    return this.#batch.get(id)?.entry?.locationId;
  }

  /** Writes all pending changes. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.flush();
    // Writes what changed in the meantime, and the states that only this node knows.
    await this.flush();
    this.#cancelFlush?.();
  }
}

const detailOf = ({ code, detail }: Recorded) =>
  code === undefined || detail?.['code'] !== undefined ? detail : { ...detail, code };

function setState(unwritten: Unwritten, at: number, state: MessageState, code: string | null = null): void {
  if (rankOf(state) < rankOf(unwritten.state)) return;
  unwritten.state = state;
  unwritten.code = code;
  unwritten.updatedAt = at;
}

/** Creates a partial entry for a message whose node died before writing it. */
function openOrphan(orphan: Unwritten | undefined): void {
  if (orphan?.message === undefined || orphan.state === undefined || orphan.entry !== undefined) return;
  const { id, message, updatedAt } = orphan;
  orphan.entry = { id, direction: 'outbound', ...message, kind: 'text', phoneMasked: null, length: 0 };
  orphan.createdAt = updatedAt;
}

/** Puts the merged changes into the batch. The later entry wins, and the later state unless its rank is lower. */
function merge(batch: Batch, earlier: Unwritten, later: Unwritten = earlier): void {
  if (earlier === later) return void batch.set(later.id, later);
  const { state, code, updatedAt } = rankOf(later.state) < rankOf(earlier.state) ? earlier : later;
  const { entry, handleHash, createdAt } = later.entry === undefined ? earlier : later;
  const contactHash = later.contactHash ?? earlier.contactHash;
  const message = later.message ?? earlier.message;
  const isDeliveredRepeat = earlier.isDeliveredRepeat || later.isDeliveredRepeat;
  const steps = [...earlier.steps, ...later.steps];
  batch.set(later.id, {
    ...earlier,
    entry,
    message,
    handleHash,
    contactHash,
    createdAt,
    state,
    code,
    updatedAt,
    isDeliveredRepeat,
    steps,
  });
}

/** Returns the number of dropped entries. */
function dropOldest(map: Map<string, unknown>, max: number): number {
  const tooMany = Math.max(0, map.size - max);
  for (const id of [...map.keys()].slice(0, tooMany)) map.delete(id);
  return tooMany;
}
