import type { Clock } from '@footbridge/runtime/clock';
import { sql } from 'kysely';
import type { CompiledQuery } from 'kysely';

import { nextTurn } from '../../platform/batcher.ts';
import { guarded, queriesBySize } from '../../platform/sql/queries.ts';
import type { Database, OpenDatabase, Queries } from '../../platform/sql/open-database.ts';
import type { Schema } from '../../platform/sql/schema.ts';

/** The result of a claim. */
export type GuidClaim = (
  | ClaimedGuid
  /** The CRM has the message. */
  | { readonly kind: 'sent' }
  /** Another process claimed the message at `claimedAt` and has not finished. */
  | { readonly kind: 'held'; readonly owner: string; readonly claimedAt: number }
) & {
  /** The id of the journal entry that the first claim stored. Null when an earlier version of the service made that claim. */
  readonly entryId: string | null;
};

/** This process delivers the message. */
export interface ClaimedGuid {
  readonly kind: 'claimed';
  /** An earlier attempt may have reached the CRM. */
  readonly uncertain: boolean;
  /** The message was rejected, and the Mac sent it again. */
  readonly isRedelivery: boolean;
  /** No attempt that may have reached the CRM was made earlier, by the clock of the process that claimed it. */
  readonly claimedAt: number;
}

export interface GuidKey {
  readonly locationId: string;
  readonly guid: string;
}

export interface GuidsDeps {
  readonly database: Queries;
  readonly clock: Clock;
  /** Identifies this process. A new value after every start. */
  readonly owner: string;
}

interface PendingClaim extends GuidKey {
  readonly entryId: string;
  readonly claimedAt: number;
  readonly resolve: (claim: GuidClaim | Promise<GuidClaim>) => void;
  readonly reject: (error: unknown) => void;
}

interface PendingMark extends GuidKey {
  readonly crmMessageId: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

const CLAIMED = { kind: 'claimed', uncertain: false, isRedelivery: false } as const;
const PRUNE_BATCH = 500;
/**
 * A commit costs more than its rows. The more claims the last commit contained, the longer the next claims are collected; a single
 * claim is not delayed.
 */
const DELAY_MS_PER_CLAIM = 0.4;
const MAX_CLAIM_DELAY_MS = 6;
/** A mark waits this long to share a commit with claims. The CRM already has the message, so the delay costs nothing. */
const MARK_DELAY_MS = 6;

const queried = guarded('inbound messages cannot be claimed: the database failed');

/**
 * Deduplicates inbound messages (I6): `(location, guid) → sending | sent | rejected | released`, claimed before the CRM is called and
 * marked afterwards. A claim that has resolved survives a crash of this process. Claims of one turn of the event loop, and the `sent`
 * marks of the last few milliseconds, share one transaction.
 */
export class Guids {
  readonly #db: Database;
  readonly #commit: OpenDatabase['commit'];
  readonly #clock: Clock;
  readonly #owner: string;
  readonly #insert: (claims: readonly PendingClaim[]) => CompiledQuery[];
  readonly #mark: (marks: readonly PendingMark[]) => CompiledQuery[];
  #claims: PendingClaim[] = [];
  #marks: PendingMark[] = [];
  #immediate: NodeJS.Immediate | undefined;
  #timeout: NodeJS.Timeout | undefined;
  #dueAt = Number.POSITIVE_INFINITY;
  #flushedAt = Number.NEGATIVE_INFINITY;
  #claimDelayMs = 0;
  readonly #running = new Set<Promise<void>>();

  constructor({ database, clock, owner }: GuidsDeps) {
    this.#db = database.db;
    this.#commit = database.commit;
    this.#clock = clock;
    this.#owner = owner;
    this.#insert = queriesBySize(
      (rows) => insertQuery(database.db, rows),
      ({ locationId, guid, entryId, claimedAt }) => [locationId, guid, owner, claimedAt, claimedAt, entryId],
    );
    this.#mark = queriesBySize(
      (rows) => updateQuery(database.db, rows),
      ({ locationId, guid, crmMessageId }) => [locationId, guid, crmMessageId],
    );
  }

  /**
   * Of simultaneous claims by several processes, exactly one process gets `claimed`. Any process can claim a rejected or released message.
   * A process can repeat its own claim; with another `entryId` it is uncertain: the earlier delivery was neither marked nor released. The
   * first claim stores `entryId`. Every later one returns the stored id, until the message is pruned.
   */
  claim({ locationId, guid }: GuidKey, entryId: string): Promise<GuidClaim> {
    return new Promise((resolve, reject) => {
      this.#claims.push({ locationId, guid, entryId, claimedAt: this.#clock.now(), resolve, reject });
      this.#flushAt(this.#flushedAt + this.#claimDelayMs);
    });
  }

  /**
   * Must resolve before the message is acknowledged to the Mac, which then forgets it. Without this mark, a lost message with the same
   * text in another chat would be matched to this message of the CRM after a crash (I9).
   */
  sent(key: GuidKey, crmMessageId: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#marks.push({ ...key, crmMessageId, resolve, reject });
      this.#flushAt(performance.now() + MARK_DELAY_MS);
    });
  }

  /** The Mac keeps the message until the service asks for it again. `uncertain`: an attempt may have reached the CRM. */
  rejected(key: GuidKey, uncertain: boolean): Promise<void> {
    return this.#end(key, { state: 'rejected', uncertain: uncertain ? 1 : 0 });
  }

  /** This process no longer delivers the message, and the Mac sends it again. `uncertain`: an attempt may have reached the CRM. */
  released(key: GuidKey, uncertain: boolean): Promise<void> {
    return this.#end(key, { state: 'released', uncertain: uncertain ? 1 : 0 });
  }

  /** Resolves with the message ids of the CRM that are recorded for other messages of the location. Each id belongs to one message (I9). */
  recordedForOthers(
    { locationId, guid }: GuidKey,
    crmMessageIds: readonly string[],
  ): Promise<ReadonlySet<string>> {
    return queried(async () => {
      if (crmMessageIds.length === 0) return new Set();
      const rows = await this.#db
        .selectFrom('inbound_guids')
        .select('crm_message_id')
        .where('location_id', '=', locationId)
        .where('guid', '!=', guid)
        .where('crm_message_id', 'in', crmMessageIds)
        .execute();
      return new Set(rows.map((row) => row.crm_message_id ?? ''));
    });
  }

  /** Claims a message whose owner has ended: it is uncertain. Resolves with false when the owner finished it or another process was faster. */
  takeOver({ locationId, guid }: GuidKey, owner: string): Promise<boolean> {
    return queried(async () => {
      const { numUpdatedRows } = await this.#db
        .updateTable('inbound_guids')
        .set({ owner: this.#owner, uncertain: 1, updated_at: this.#clock.now() })
        .where('location_id', '=', locationId)
        .where('guid', '=', guid)
        .where('state', '=', 'sending')
        .where('owner', '=', owner)
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    });
  }

  /** Deletes messages that were not changed for that long. Resolves with their number. */
  prune(olderThanMs: number): Promise<number> {
    return queried(async () => {
      const cutoff = this.#clock.now() - olderThanMs;
      let pruned = 0;
      for (;;) {
        const old = this.#db
          .selectFrom('inbound_guids')
          .select(['location_id', 'guid'])
          .where('updated_at', '<', cutoff)
          .limit(PRUNE_BATCH);
        const { numDeletedRows } = await this.#db
          .deleteFrom('inbound_guids')
          .where((row) => row(row.refTuple('location_id', 'guid'), 'in', old.$asTuple('location_id', 'guid')))
          .executeTakeFirst();
        pruned += Number(numDeletedRows);
        if (numDeletedRows < PRUNE_BATCH) return pruned;
        // SQLite runs on this thread: without a pause, nothing else would run until all batches are deleted.
        await nextTurn();
      }
    });
  }

  /** Only the owner ends a claim: another process may have taken it over. */
  #end(
    { locationId, guid }: GuidKey,
    change: { readonly state: 'rejected' | 'released'; readonly uncertain: 0 | 1 },
  ): Promise<void> {
    return queried(async () => {
      await this.#db
        .updateTable('inbound_guids')
        .set(change)
        .where('location_id', '=', locationId)
        .where('guid', '=', guid)
        .where('state', '=', 'sending')
        .where('owner', '=', this.#owner)
        .execute();
    });
  }

  /** Flushes at `time`, or at the end of this turn of the event loop when that has passed. */
  #flushAt(time: number): void {
    if (this.#immediate !== undefined || time >= this.#dueAt) return;
    clearTimeout(this.#timeout);
    const ms = time - performance.now();
    this.#dueAt = time;
    if (ms <= 0) this.#immediate = setImmediate(() => this.#flush());
    else this.#timeout = setTimeout(() => this.#flush(), ms);
  }

  #flush(): void {
    clearImmediate(this.#immediate);
    clearTimeout(this.#timeout);
    this.#immediate = undefined;
    this.#timeout = undefined;
    this.#dueAt = Number.POSITIVE_INFINITY;
    this.#flushedAt = performance.now();
    const [claims, marks] = [this.#claims, this.#marks];
    if (claims.length + marks.length === 0) return;
    if (claims.length > 0)
      this.#claimDelayMs = Math.min(MAX_CLAIM_DELAY_MS, claims.length * DELAY_MS_PER_CLAIM);
    this.#claims = [];
    this.#marks = [];
    const run = this.#run(claims, marks).finally(() => this.#running.delete(run));
    this.#running.add(run);
  }

  /** Resolves when all pending calls are settled. */
  async close(): Promise<void> {
    this.#flush();
    await Promise.all(this.#running);
  }

  async #run(claims: PendingClaim[], marks: PendingMark[]): Promise<void> {
    try {
      const inserts = this.#insert(claims);
      const results = await queried(() => this.#commit([...inserts, ...this.#mark(marks)]));
      const inserted = results
        .slice(0, inserts.length)
        .reduce((sum, { numAffectedRows = 0n }) => sum + Number(numAffectedRows), 0);
      for (const mark of marks) mark.resolve();
      // The engine returns how many rows are new, not which: unless all are, each one is looked up.
      const allNew = inserted === claims.length;
      for (const claim of claims)
        claim.resolve(
          allNew ? { ...CLAIMED, claimedAt: claim.claimedAt, entryId: claim.entryId } : this.#lookUp(claim),
        );
    } catch (error) {
      for (const pending of [...marks, ...claims]) pending.reject(error);
    }
  }

  /** The claim of a message that was claimed before. */
  async #lookUp({ locationId, guid, entryId: newEntryId }: PendingClaim): Promise<GuidClaim> {
    const row = await queried(() =>
      this.#db
        .selectFrom('inbound_guids')
        .select(['state', 'owner', 'uncertain', 'created_at', 'entry_id'])
        .where('location_id', '=', locationId)
        .where('guid', '=', guid)
        .executeTakeFirst(),
    );
    // Pruned between the two queries.
    if (row === undefined) return this.claim({ locationId, guid }, newEntryId);
    const entryId = row.entry_id;
    if (row.state === 'sent') return { kind: 'sent', entryId };
    if (row.state !== 'sending') return this.#claimEnded({ locationId, guid }, newEntryId, row);
    const claimedAt = row.created_at;
    if (row.owner !== this.#owner) return { kind: 'held', owner: row.owner, claimedAt, entryId };
    // With another entry id, an earlier delivery by this process could be neither marked nor released: it may have posted the message.
    const uncertain = row.uncertain === 1 || entryId !== newEntryId;
    return { ...CLAIMED, uncertain, claimedAt, entryId };
  }

  async #claimEnded(
    key: GuidKey,
    newEntryId: string,
    row: Pick<Schema['inbound_guids'], 'state' | 'uncertain' | 'created_at' | 'entry_id'>,
  ): Promise<GuidClaim> {
    const now = this.#clock.now();
    const uncertain = row.uncertain === 1;
    const claimedAt = uncertain ? row.created_at : now;
    const { numUpdatedRows } = await queried(() =>
      this.#db
        .updateTable('inbound_guids')
        .set({ state: 'sending', owner: this.#owner, created_at: claimedAt, updated_at: now })
        .where('location_id', '=', key.locationId)
        .where('guid', '=', key.guid)
        .where('state', '=', row.state)
        .executeTakeFirst(),
    );
    if (numUpdatedRows === 0n) return this.claim(key, newEntryId);
    return {
      ...CLAIMED,
      uncertain,
      isRedelivery: row.state === 'rejected',
      claimedAt,
      entryId: row.entry_id,
    };
  }
}

function insertQuery(db: Database, count: number): CompiledQuery {
  const row = sql`(${''}, ${''}, 'sending', ${''}, 0, 0, null, ${0}, ${0}, ${''})`;
  const rows = sql.join(Array.from({ length: count }, () => row));
  return sql`insert into inbound_guids
    (location_id, guid, state, owner, epoch, uncertain, crm_message_id, created_at, updated_at, entry_id)
    values ${rows} on conflict (location_id, guid) do nothing`.compile(db);
}

// `updated_at` stays unchanged: updating its index would double the cost of a mark.
function updateQuery(db: Database, count: number): CompiledQuery {
  const rows = sql.join(Array.from({ length: count }, () => sql`(${''}, ${''}, ${''})`));
  return sql`update inbound_guids set state = 'sent', crm_message_id = v.column3
    from (values ${rows}) as v
    where inbound_guids.location_id = v.column1 and inbound_guids.guid = v.column2`.compile(db);
}
