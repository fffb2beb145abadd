import type { Clock } from '../../clock.ts';
import { EngineError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { Database } from '../../sql/open-database.ts';
import type { Changes, Topic } from './changes.ts';
import { Listeners, TOPICS } from './listeners.ts';

const POLL_MS = 1000;
/** A number is given before its row can be seen, so a lower one may turn up after a higher one. This long is looked back. */
const OVERLAP_MS = 10_000;
const KEEP_MS = 3_600_000;
const PRUNE_MS = 600_000;

export interface SqlChangesOptions {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Logger;
  readonly pollMs?: number;
}

/** Several nodes on one database: a table that every node reads once a second. */
export async function createSqlChanges(options: SqlChangesOptions): Promise<Changes> {
  const changes = new SqlChanges(options);
  await changes.start();
  return changes;
}

class SqlChanges implements Changes {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #pollMs: number;
  readonly #listeners: Listeners;
  /** Numbers heard of lately and when, oldest first; all up to `#floor` are done with. */
  readonly #heard = new Map<number, number>();
  #floor = 0;
  #readAt = 0;
  #pruneAt = 0;
  #away = false;
  #closed = false;
  #polling: Promise<void> = Promise.resolve();
  #cancel: () => void = () => {};

  constructor({ db, clock, log, pollMs = POLL_MS }: SqlChangesOptions) {
    this.#db = db;
    this.#clock = clock;
    this.#log = log;
    this.#pollMs = pollMs;
    this.#listeners = new Listeners(log);
  }

  async start(): Promise<void> {
    await this.#skipToNewest();
    this.#pruneAt = this.#clock.monotonic() + PRUNE_MS;
    this.#schedule();
  }

  async announce(topic: Topic, subject: string): Promise<void> {
    const row = { topic, subject, at: this.#clock.now() };
    try {
      const { id } = await this.#db
        .insertInto('changes')
        .values(row)
        .returning('id')
        .executeTakeFirstOrThrow();
      this.#heard.set(id, this.#clock.monotonic());
    } catch (cause) {
      throw new EngineError('sql', 'other nodes cannot be told of a change: the database failed', cause);
    } finally {
      // The change itself is stored already: this node acts on it even when the others cannot be told.
      this.#listeners.tell(topic, subject);
    }
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
      if (this.#clock.monotonic() - this.#readAt > KEEP_MS - OVERLAP_MS) await this.#startOver();
      else await this.#read();
      await this.#prune();
      if (this.#away) this.#log.info({}, 'changes of other nodes are heard again');
      this.#away = false;
    } catch (error) {
      if (!this.#away) this.#log.warn({ err: error }, 'changes of other nodes cannot be read for now');
      this.#away = true;
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
      if (this.#heard.has(id)) continue;
      this.#heard.set(id, now);
      const known = TOPICS.find((one) => one === topic);
      if (known !== undefined) this.#listeners.tell(known, subject);
    }
    for (const [id, at] of this.#heard) {
      if (now - at < OVERLAP_MS) break;
      this.#heard.delete(id);
      this.#floor = Math.max(this.#floor, id);
    }
  }

  async #startOver(): Promise<void> {
    await this.#skipToNewest();
    this.#listeners.tellAll();
  }

  async #skipToNewest(): Promise<void> {
    const newest = await this.#db
      .selectFrom('changes')
      .select((eb) => eb.fn.max('id').as('id'))
      .executeTakeFirst();
    this.#floor = newest?.id ?? 0;
    this.#heard.clear();
    this.#readAt = this.#clock.monotonic();
  }

  async #prune(): Promise<void> {
    if (this.#clock.monotonic() < this.#pruneAt) return;
    this.#pruneAt = this.#clock.monotonic() + PRUNE_MS;
    await this.#db
      .deleteFrom('changes')
      .where('at', '<', this.#clock.now() - KEEP_MS)
      .execute();
  }
}
