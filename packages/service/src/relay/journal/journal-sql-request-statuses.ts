import { sql } from 'kysely';
import type { CompiledQuery, RawBuilder, Selectable } from 'kysely';

import type { Database } from '../../platform/sql/open-database.ts';
import { placeholders, queriesBySize } from '../../platform/sql/queries.ts';
import type { Schema } from '../../platform/sql/schema.ts';
import type { LastStatus, SentStatus } from './journal.ts';
import { createStepsReader } from './journal-sql-steps.ts';
import type { Steps, WithSteps } from './journal-sql-steps.ts';

/** The recorded statuses of one request for a message. */
export interface RequestStatus {
  readonly requestId: string;
  readonly statuses: readonly TimedStatus[];
}

/** Identifies the message to look up and the request to leave out. Different locations may use the same message id. */
export interface RequestKey {
  readonly locationId: string;
  readonly messageId: string;
  readonly requestId: string;
}

interface TimedStatus {
  readonly at: number;
  readonly status: LastStatus;
}

type RequestRow = WithSteps &
  Pick<Selectable<Schema['messages']>, 'location_id' | 'message_id' | 'created_at'>;

/** The last status of a message depends on this many of its oldest and newest requests. A genuine CRM repeats a webhook only a few times. */
const MAX_ENDS = 20;

/** Reads, for the message of each key, a bounded number of its other requests. */
export type ReadRequestStatuses = (
  keys: readonly RequestKey[],
) => Promise<ReadonlyMap<RequestKey, readonly RequestStatus[]>>;

export function createRequestStatuses(db: Database): ReadRequestStatuses {
  const readSteps = createStepsReader(db);
  /**
   * Builds queries that return, for each message, the ids of some of its other requests in one string, because SQLite has no lateral joins.
   * Most messages have no other requests, so nothing more is read.
   */
  const idsOf = (requests: RawBuilder<unknown>) =>
    queriesBySize(
      (size) =>
        sql`WITH asked (location_id, message_id, request_id) AS (VALUES ${sql.join(Array.from({ length: size }, () => sql`(${''}, ${''}, ${''})`))})
          SELECT ids FROM (
            SELECT (SELECT string_agg(id, ' ') FROM (
              SELECT id FROM messages
              WHERE message_id = asked.message_id AND location_id = asked.location_id
                AND id <> asked.request_id AND ${requests}
            ) AS requests) AS ids FROM asked
          ) AS found WHERE ids IS NOT NULL`.compile(db),
      ({ locationId, messageId, requestId }: RequestKey) => [locationId, messageId, requestId],
    );
  const oldestOf = idsOf(sql`direction = 'outbound' ORDER BY created_at LIMIT ${sql.lit(MAX_ENDS)}`);
  const newestOf = idsOf(sql`direction = 'outbound' ORDER BY created_at DESC LIMIT ${sql.lit(MAX_ENDS)}`);
  const deliveredOf = idsOf(sql`told IS NOT NULL LIMIT 2`);
  const rowsById = queriesBySize(
    (size) =>
      db
        .selectFrom('messages')
        .select(['id', 'location_id', 'message_id', 'created_at', 'steps'])
        .where('id', 'in', placeholders(size))
        .compile(),
    (id: string) => [id],
  );

  return async (keys) => {
    const oldest = await requestsIn(oldestOf(keys));
    if (oldest.size === 0) return new Map();
    const repeated = keys.filter((key) => (oldest.get(messageOf(key))?.length ?? 0) >= MAX_ENDS);
    const newest = await requestsIn(newestOf(repeated));
    const delivered = await requestsIn(deliveredOf(repeated));
    return new Map(
      keys.map((key) => {
        const [first = [], last = [], final = []] = [oldest, newest, delivered].map((requests) =>
          requests.get(messageOf(key))?.filter(({ requestId }) => requestId !== key.requestId),
        );
        return [key, last.length === 0 ? first : acrossGap(first, last, final)];
      }),
    );
  };

  /** Resolves with the requests whose ids the queries return, grouped by message. */
  async function requestsIn(queries: readonly CompiledQuery[]): Promise<Map<string, ReadRequest[]>> {
    const ids = new Set<string>();
    for (const query of queries) {
      const { rows } = await db.executeQuery(query);
      for (const found of rows as { ids: string }[]) for (const id of found.ids.split(' ')) ids.add(id);
    }
    if (ids.size === 0) return new Map();
    const all: RequestRow[] = [];
    for (const query of rowsById([...ids]))
      all.push(...((await db.executeQuery(query)).rows as RequestRow[]));
    const steps = await readSteps(all);
    const requests = all.map((row) => ({
      key: messageOf({ locationId: row.location_id, messageId: row.message_id ?? '' }),
      requestId: row.id,
      createdAt: row.created_at,
      statuses: (steps.get(row.id) ?? []).flatMap(timedStatus),
    }));
    return Map.groupBy(requests, ({ key }) => key);
  }
}

interface ReadRequest extends RequestStatus {
  readonly createdAt: number;
}

const messageOf = ({ locationId, messageId }: Omit<RequestKey, 'requestId'>) =>
  JSON.stringify([locationId, messageId]);

/**
 * Combines the oldest and newest requests of a message. Unless they overlap, requests between them were not read. Those may have superseded
 * any earlier status except `delivered`, which is final.
 */
function acrossGap(
  oldest: readonly ReadRequest[],
  newest: readonly ReadRequest[],
  delivered: readonly ReadRequest[],
): RequestStatus[] {
  const known = new Set(oldest.map(({ requestId }) => requestId));
  const others = newest.filter(({ requestId }) => !known.has(requestId));
  if (others.length < newest.length) return [...oldest, ...others];
  const final = [...oldest, ...delivered].map(({ requestId, statuses }) => ({
    requestId,
    statuses: statuses.filter(({ status }) => status === 'delivered'),
  }));
  const at = Math.min(...newest.map(({ createdAt }) => createdAt));
  return [...final, { requestId: '', statuses: [{ at, status: 'uncertain' }] }, ...newest];
}

/** One status, or none. */
function timedStatus({ at, step, detail }: Steps[number]): TimedStatus[] {
  if (step === 'status_sent') return [{ at, status: detail?.['status'] as SentStatus }];
  if (step === 'written') return [{ at, status: 'written' }];
  if (step !== 'accepted' && step !== 'rejected' && step !== 'not_connected') return [];
  return [{ at, status: detail?.['isCertain'] === false ? 'uncertain' : 'repeated' }];
}

/** Returns the last status over several requests for one message. */
export function lastOf(requests: readonly RequestStatus[]): LastStatus | undefined {
  return requests
    .flatMap(({ statuses }) => statuses)
    .sort((left, right) => left.at - right.at)
    .reduce<TimedStatus | undefined>(laterOf, undefined)?.status;
}

const UNREPORTED: readonly LastStatus[] = ['repeated', 'written', 'uncertain'];

/**
 * Nothing follows `delivered`, even if the clocks of two nodes differ, and a frame that is written again does not undo `pending`. Of the
 * unreported ones, take the least specific.
 */
function laterOf(known: TimedStatus | undefined, next: TimedStatus): TimedStatus {
  if (known === undefined || next.status === 'delivered') return next;
  if (known.status === 'delivered') return known;
  const [before, after] = [UNREPORTED.indexOf(known.status), UNREPORTED.indexOf(next.status)];
  if (before >= 0 && after >= 0) return before > after ? known : next;
  if (known.status === 'pending' && after >= 0) return known;
  if (before >= 0 && next.status === 'pending') return next;
  return known.at > next.at ? known : next;
}
