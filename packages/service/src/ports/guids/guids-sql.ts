import { sql } from 'kysely';
import type { CompiledQuery, Transaction } from 'kysely';

import type { Clock } from '../../clock.ts';
import { EngineError } from '../../errors.ts';
import type { Database, OpenDatabase } from '../../sql/open-database.ts';
import type { Schema } from '../../sql/schema.ts';
import type { Claim, GuidKey, Guids } from './guids.ts';

export interface SqlGuidsOptions {
  readonly database: Pick<OpenDatabase, 'db'>;
  readonly clock: Clock;
  /** This process: another value after every start. */
  readonly owner: string;
}

interface WaitingClaim extends GuidKey {
  readonly epoch: number;
  readonly answer: (claim: Claim | Promise<Claim>) => void;
  readonly fail: (error: unknown) => void;
}

interface WaitingMark extends GuidKey {
  readonly state: 'sent' | 'rejected';
  readonly crmMessageId: string | null;
  readonly answer: () => void;
  readonly fail: (error: unknown) => void;
}

type Queries = Database | Transaction<Schema>;

const CLAIMED: Claim = { kind: 'claimed', isNew: true, uncertain: false };
const CLAIMED_AGAIN = { kind: 'claimed', isNew: false, uncertain: false } as const;
const MOST_AT_ONCE = 64;
const PRUNE_AT_ONCE = 5000;
/**
 * A commit costs more than the rows in it. So the more claims the last one held, the longer the next ones gather, up to the most;
 * one that comes alone does not wait.
 */
const GATHER_MS_PER_CLAIM = 0.4;
const MOST_GATHER_MS = 6;
/** A mark waits this long for claims to share their commit. The CRM has the message by then: nobody waits for it. */
const MARK_MS = 6;

export function createSqlGuids(options: SqlGuidsOptions): Guids {
  return new BatchedGuids(options);
}

class BatchedGuids implements Guids {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #owner: string;
  readonly #inserts: (size: number) => CompiledQuery;
  readonly #updates: (size: number) => CompiledQuery;
  #claims: WaitingClaim[] = [];
  #marks: WaitingMark[] = [];
  #soon: NodeJS.Immediate | undefined;
  #later: NodeJS.Timeout | undefined;
  #dueAt = Number.POSITIVE_INFINITY;
  #flushedAt = Number.NEGATIVE_INFINITY;
  #gatherMs = 0;
  readonly #running = new Set<Promise<void>>();

  constructor({ database, clock, owner }: SqlGuidsOptions) {
    this.#db = database.db;
    this.#clock = clock;
    this.#owner = owner;
    this.#inserts = bySize((size) => insertQuery(database.db, size));
    this.#updates = bySize((size) => updateQuery(database.db, size));
  }

  claim({ locationId, guid }: GuidKey, epoch: number): Promise<Claim> {
    return new Promise((answer, fail) => {
      this.#claims.push({ locationId, guid, epoch, answer, fail });
      this.#flushAt(this.#flushedAt + this.#gatherMs);
    });
  }

  sent(key: GuidKey, crmMessageId: string): Promise<void> {
    return this.#mark(key, 'sent', crmMessageId);
  }

  rejected(key: GuidKey): Promise<void> {
    return this.#mark(key, 'rejected', null);
  }

  takeOver({ locationId, guid }: GuidKey, epoch: number, owner: string): Promise<boolean> {
    return guarded(async () => {
      const { numUpdatedRows } = await this.#db
        .updateTable('inbound_guids')
        .set({ owner: this.#owner, epoch, uncertain: 1, updated_at: this.#clock.now() })
        .where('location_id', '=', locationId)
        .where('guid', '=', guid)
        .where('state', '=', 'sending')
        .where('owner', '=', owner)
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    });
  }

  prune(olderThanMs: number): Promise<number> {
    return guarded(async () => {
      const cutoff = this.#clock.now() - olderThanMs;
      let pruned = 0;
      for (;;) {
        const old = this.#db
          .selectFrom('inbound_guids')
          .select(['location_id', 'guid'])
          .where('updated_at', '<', cutoff)
          .limit(PRUNE_AT_ONCE);
        const { numDeletedRows } = await this.#db
          .deleteFrom('inbound_guids')
          .where((row) => row(row.refTuple('location_id', 'guid'), 'in', old.$asTuple('location_id', 'guid')))
          .executeTakeFirst();
        pruned += Number(numDeletedRows);
        if (numDeletedRows < PRUNE_AT_ONCE) return pruned;
      }
    });
  }

  #mark({ locationId, guid }: GuidKey, state: WaitingMark['state'], crmMessageId: string | null) {
    return new Promise<void>((answer, fail) => {
      this.#marks.push({ locationId, guid, state, crmMessageId, answer, fail });
      this.#flushAt(performance.now() + MARK_MS);
    });
  }

  /** At the end of this turn of the event loop, or at that time when it is still to come. */
  #flushAt(time: number): void {
    if (this.#soon !== undefined || time >= this.#dueAt) return;
    clearTimeout(this.#later);
    const ms = time - performance.now();
    this.#dueAt = time;
    if (ms <= 0) this.#soon = setImmediate(() => this.#flush());
    else this.#later = setTimeout(() => this.#flush(), ms);
  }

  #flush(): void {
    clearImmediate(this.#soon);
    clearTimeout(this.#later);
    this.#soon = undefined;
    this.#later = undefined;
    this.#dueAt = Number.POSITIVE_INFINITY;
    this.#flushedAt = performance.now();
    const [claims, marks] = [this.#claims, this.#marks];
    if (claims.length + marks.length === 0) return;
    if (claims.length > 0) this.#gatherMs = Math.min(MOST_GATHER_MS, claims.length * GATHER_MS_PER_CLAIM);
    this.#claims = [];
    this.#marks = [];
    const run = this.#run(claims, marks).finally(() => this.#running.delete(run));
    this.#running.add(run);
  }

  async close(): Promise<void> {
    this.#flush();
    await Promise.all(this.#running);
  }

  async #run(claims: WaitingClaim[], marks: WaitingMark[]): Promise<void> {
    try {
      const allNew = await guarded(() => this.#write(claims, marks));
      for (const mark of marks) mark.answer();
      // The engine says how many rows are new, not which: with one that is not, each is looked up.
      for (const claim of claims) claim.answer(allNew ? CLAIMED : this.#lookUp(claim));
    } catch (error) {
      for (const waiting of [...marks, ...claims]) waiting.fail(error);
    }
  }

  #write(claims: readonly WaitingClaim[], marks: readonly WaitingMark[]): Promise<boolean> {
    return claims.length + marks.length === 1
      ? this.#writeIn(this.#db, claims, marks)
      : this.#db.transaction().execute((trx) => this.#writeIn(trx, claims, marks));
  }

  /** Answers whether every claim is new. */
  async #writeIn(
    queries: Queries,
    claims: readonly WaitingClaim[],
    marks: readonly WaitingMark[],
  ): Promise<boolean> {
    const now = this.#clock.now();
    let isNew = 0n;
    for (const some of portions(claims)) {
      const parameters: unknown[] = [];
      for (const { locationId, guid, epoch } of some)
        parameters.push(locationId, guid, this.#owner, epoch, now, now);
      const { numAffectedRows } = await queries.executeQuery({ ...this.#inserts(some.length), parameters });
      isNew += numAffectedRows ?? 0n;
    }
    for (const some of portions(marks)) {
      const parameters: unknown[] = [];
      for (const { locationId, guid, state, crmMessageId } of some)
        parameters.push(locationId, guid, state, crmMessageId);
      await queries.executeQuery({ ...this.#updates(some.length), parameters });
    }
    return Number(isNew) === claims.length;
  }

  /** Not new: what became of it. */
  async #lookUp({ locationId, guid, epoch }: WaitingClaim): Promise<Claim> {
    const row = await guarded(() =>
      this.#db
        .selectFrom('inbound_guids')
        .select(['state', 'owner', 'uncertain'])
        .where('location_id', '=', locationId)
        .where('guid', '=', guid)
        .executeTakeFirst(),
    );
    // Pruned between the two questions.
    if (row === undefined) return this.claim({ locationId, guid }, epoch);
    if (row.state === 'sent') return { kind: 'sent' };
    if (row.state === 'sending')
      return row.owner === this.#owner
        ? { ...CLAIMED_AGAIN, uncertain: row.uncertain === 1 }
        : { kind: 'held', owner: row.owner };
    return this.#claimRejected({ locationId, guid }, epoch);
  }

  async #claimRejected(key: GuidKey, epoch: number): Promise<Claim> {
    const { numUpdatedRows } = await guarded(() =>
      this.#db
        .updateTable('inbound_guids')
        .set({ state: 'sending', owner: this.#owner, epoch, uncertain: 0, updated_at: this.#clock.now() })
        .where('location_id', '=', key.locationId)
        .where('guid', '=', key.guid)
        .where('state', '=', 'rejected')
        .executeTakeFirst(),
    );
    return numUpdatedRows > 0n ? CLAIMED_AGAIN : this.claim(key, epoch);
  }
}

function insertQuery(db: Database, size: number): CompiledQuery {
  const row = sql`(${''}, ${''}, 'sending', ${''}, ${0}, 0, null, ${0}, ${0})`;
  const rows = sql.join(Array.from({ length: size }, () => row));
  return sql`insert into inbound_guids
    (location_id, guid, state, owner, epoch, uncertain, crm_message_id, created_at, updated_at)
    values ${rows} on conflict (location_id, guid) do nothing`.compile(db);
}

// The time stays: the index on it would cost as much again as the mark.
function updateQuery(db: Database, size: number): CompiledQuery {
  const rows = sql.join(Array.from({ length: size }, () => sql`(${''}, ${''}, ${''}, ${''})`));
  return sql`update inbound_guids set state = v.column3, crm_message_id = v.column4
    from (values ${rows}) as v
    where inbound_guids.location_id = v.column1 and inbound_guids.guid = v.column2`.compile(db);
}

/** Slices of 64, 32, … 1: few lengths, so that the engine's cache of prepared statements holds a query for each. */
function* portions<T>(items: readonly T[]): Iterable<readonly T[]> {
  let size = MOST_AT_ONCE;
  for (let from = 0; from < items.length; from += size) {
    while (size > items.length - from) size /= 2;
    yield items.slice(from, from + size);
  }
}

/** Queries are built once per number of rows; afterwards only their parameters change. */
function bySize(build: (size: number) => CompiledQuery): (size: number) => CompiledQuery {
  const built = new Map<number, CompiledQuery>();
  return (size) => {
    const query = built.get(size) ?? build(size);
    built.set(size, query);
    return query;
  };
}

async function guarded<T>(task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    if (error instanceof EngineError) throw error;
    throw new EngineError('sql', 'the memory of inbound messages does not answer', error);
  }
}
