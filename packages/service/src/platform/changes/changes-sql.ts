import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';

import { EngineError } from '../errors.ts';
import type { Database } from '../sql/open-database.ts';
import { TOPICS } from './changes.ts';
import type { Changes, Topic } from './changes.ts';
import { Listeners } from './listeners.ts';

const POLL_MS = 1000;
/** An id is assigned before its row is committed, so a lower id may become visible after a higher one. Polls look back this far. */
const OVERLAP_MS = 10_000;
const RETENTION_MS = 3_600_000;
const PRUNE_INTERVAL_MS = 600_000;

export interface SqlChangesDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly pollMs?: number;
}

/** Several nodes on one database: a table that every node polls once a second. */
export async function createSqlChanges(deps: SqlChangesDeps): Promise<Changes> {
  const changes = new SqlChanges(deps);
  await changes.start();
  return changes;
}

class SqlChanges implements Changes {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #pollMs: number;
  readonly #listeners: Listeners;
  /** The ids handled recently and when, oldest first. All ids up to `#floor` are handled. */
  readonly #handled = new Map<number, number>();
  #floor = 0;
  #readAt = 0;
  #pruneAt = 0;
  #isFailing = false;
  #closed = false;
  #polling: Promise<void> = Promise.resolve();
  #cancel: () => void = () => {};

  constructor({ db, clock, log, pollMs = POLL_MS }: SqlChangesDeps) {
    this.#db = db;
    this.#clock = clock;
    this.#log = log;
    this.#pollMs = pollMs;
    this.#listeners = new Listeners(log);
  }

  async start(): Promise<void> {
    await this.#skipToNewest();
    this.#pruneAt = this.#clock.monotonic() + PRUNE_INTERVAL_MS;
    this.#schedule();
  }

  async announce(topic: Topic, subject: string): Promise<void> {
    let isHandled = false;
    try {
      const id = await this.#insert(topic, subject);
      // A poll may have read the row before the insert resolved.
      isHandled = this.#handled.has(id);
      this.#handled.set(id, this.#clock.monotonic());
    } catch (cause) {
      throw new EngineError('sql', 'a change cannot be announced to other nodes: the database failed', cause);
    } finally {
      // The change itself is already stored: this node applies it even when the others cannot be notified.
      if (!isHandled) this.#listeners.notify(topic, subject);
    }
  }

  async #insert(topic: Topic, subject: string): Promise<number> {
    const row = { topic, subject, at: this.#clock.now() };
    const { id } = await this.#db.insertInto('changes').values(row).returning('id').executeTakeFirstOrThrow();
    return id;
  }

  listen(topic: Topic, listener: (subject: string) => void): () => void {
    return this.#listeners.add(topic, listener);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancel();
    await this.#polling;
    this.#listeners.clear();
  }

  #schedule(): void {
    if (this.#closed) return;
    this.#cancel = this.#clock.after(this.#pollMs, () => {
      this.#polling = this.#poll().finally(() => this.#schedule());
    });
  }

  async #poll(): Promise<void> {
    try {
      if (this.#clock.monotonic() - this.#readAt > RETENTION_MS - OVERLAP_MS) await this.#startOver();
      else await this.#read();
      await this.#prune();
      if (this.#isFailing)
        this.#log.info({ event: 'sql.changes_readable' }, 'changes of other nodes readable again');
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing)
        this.#log.warn(
          { event: 'sql.changes_unreadable', err: error },
          'changes of other nodes not readable',
        );
      this.#isFailing = true;
    }
  }

  async #read(): Promise<void> {
    const rows = await this.#db
      .selectFrom('changes')
      .select(['id', 'topic', 'subject'])
      .where('id', '>', this.#floor)
      .orderBy('id')
      .execute();
    const now = this.#clock.monotonic();
    this.#readAt = now;
    for (const { id, topic, subject } of rows) {
      if (this.#handled.has(id)) continue;
      this.#handled.set(id, now);
      const known = TOPICS.find((one) => one === topic);
      if (known !== undefined) this.#listeners.notify(known, subject);
    }
    for (const [id, at] of this.#handled) {
      if (now - at < OVERLAP_MS) break;
      this.#handled.delete(id);
      this.#floor = Math.max(this.#floor, id);
    }
  }

  async #startOver(): Promise<void> {
    await this.#skipToNewest();
    this.#listeners.notifyAll();
  }

  async #skipToNewest(): Promise<void> {
    const newest = await this.#db
      .selectFrom('changes')
      .select((eb) => eb.fn.max('id').as('id'))
      .executeTakeFirst();
    this.#floor = newest?.id ?? 0;
    this.#handled.clear();
    this.#readAt = this.#clock.monotonic();
  }

  async #prune(): Promise<void> {
    if (this.#clock.monotonic() < this.#pruneAt) return;
    this.#pruneAt = this.#clock.monotonic() + PRUNE_INTERVAL_MS;
    await this.#db
      .deleteFrom('changes')
      .where('at', '<', this.#clock.now() - RETENTION_MS)
      .execute();
  }
}
