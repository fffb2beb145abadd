import { newRequestId } from '@footbridge/protocol/ids';
import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';

import { Batcher } from '../../platform/batcher.ts';
import { guarded } from '../../platform/sql/queries.ts';
import type { Queries } from '../../platform/sql/open-database.ts';
import { keyedHash } from '../people/handles.ts';
import type { LastStatus, MessageKey, NewEntry, Recorded, StepName } from './journal.ts';
import { createReader } from './journal-sql-reader.ts';
import { createRequestStatuses, lastOf } from './journal-sql-request-statuses.ts';
import { createWriteBatch } from './journal-sql-writer.ts';
import { RecentEvents } from './recent-events.ts';
import { WriteBehind } from './write-behind.ts';

export interface JournalDeps {
  readonly database: Queries;
  readonly clock: Clock;
  readonly log: Log;
  /** For the hashes of phone numbers. The first one is for new entries. */
  readonly handleKeys: readonly Uint8Array[];
  readonly flushMs?: number;
  /**
   * How long a message is kept in memory under load, so that most messages need one write instead of three. A crash may repeat the statuses
   * of this time. Not for several nodes: each node waits for what the others have not written.
   */
  readonly holdMs?: number;
}

/** `lastStatus` is looked up for every message that is new to this process. Under load, lookups are collected for up to this time. */
const MAX_COLLECT_MS = 10;
/** Entries wait less than this to be written, unless the database is unavailable. */
const UNWRITTEN_MS = 60_000;

const queried = guarded('the journal cannot be read');

/**
 * What happened to each message. `open` and `step` return immediately, and their rows are written in the background. Reads include what this
 * node has recorded but not written yet, unless they say otherwise. They reject with EngineError when the database is unavailable.
 */
export function createJournal({ database, clock, log, handleKeys, flushMs = 200, holdMs = 0 }: JournalDeps) {
  const hash = keyedHash(handleKeys);
  const recent = new RecentEvents(clock.now().toString(36));
  const write = createWriteBatch(database);
  const writeBehind = new WriteBehind({ write, recent, hash, clock, log, flushMs, holdMs });
  const flush = () => writeBehind.flush();
  const { prune, wasDelivered, ...reads } = createReader({ database, hash, flush });
  const requestStatuses = new Batcher(createRequestStatuses(database.db), MAX_COLLECT_MS);

  return {
    ...reads,

    open(entry: NewEntry, step: StepName, recorded?: Recorded): void {
      writeBehind.open(entry, step, recorded);
    },

    step(id: string, step: StepName, recorded?: Recorded): void {
      writeBehind.step(id, step, recorded);
    },

    /** Resolves with the location of a request. */
    async locationOf(requestId: string): Promise<string | undefined> {
      return writeBehind.unwrittenLocation(requestId) ?? (await reads.sentStatuses(requestId))?.locationId;
    },

    /**
     * Resolves with the last status of a message that the CRM accepted, over all its requests but `requestId`; `delivered` is always the
     * last. Undefined when there is no other request. Of many requests, only the oldest, the newest and the ones with an indexed
     * `delivered` are read; the others count as `uncertain`. Calls within a few milliseconds share one query. Leaves out what this node has
     * not written yet, so that it never waits for a write.
     */
    async lastStatus(
      locationId: string,
      messageId: string,
      requestId: string,
    ): Promise<LastStatus | undefined> {
      const requests = await queried(() => requestStatuses.get({ locationId, messageId, requestId }));
      return lastOf(requests ?? []);
    },

    /** Resolves with whether one of the newest requests for an outbound message before that time was delivered. */
    async wasDelivered(message: Omit<MessageKey, 'direction'>, before: number): Promise<boolean> {
      // What was delivered just before that time may not be written yet.
      if (clock.now() - before < UNWRITTEN_MS) await flush();
      return await queried(() => wasDelivered(message, before));
    },

    /** Deletes messages that are older than the retention of their location. Resolves with their number. */
    prune(olderThanMs: number, byLocation: ReadonlyMap<string, number> = new Map()): Promise<number> {
      const now = clock.now();
      const oldest = now - Math.max(olderThanMs, ...byLocation.values());
      return prune({
        before: now - olderThanMs,
        byLocation: new Map(Array.from(byLocation, ([locationId, ms]) => [locationId, now - ms])),
        stepsBefore: { at: oldest, requestId: newRequestId(oldest) },
      });
    },

    /** The live events of this node: see `RecentEvents`. */
    since: (lastId: string | undefined) => recent.since(lastId),
    listen: (listener: Parameters<RecentEvents['listen']>[0]) => recent.listen(listener),

    /** Writes all changes now. Never rejects: what cannot be written is kept. */
    flush,

    /** Writes all pending changes. */
    close: () => writeBehind.close(),
  };
}

export type Journal = ReturnType<typeof createJournal>;
