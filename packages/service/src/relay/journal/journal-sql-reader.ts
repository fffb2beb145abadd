import { sql } from 'kysely';
import type { RawBuilder, Selectable, SelectQueryBuilder } from 'kysely';

import { nextTurn } from '../../platform/batcher.ts';
import { guarded } from '../../platform/sql/queries.ts';
import type { Queries } from '../../platform/sql/open-database.ts';
import type { Schema } from '../../platform/sql/schema.ts';
import type {
  CountQuery,
  MessageCount,
  MessageKey,
  MessageQuery,
  MessageState,
  MessageSummary,
  MessageTrail,
  PersonQuery,
  RecentSend,
  SentStatus,
  SentStatuses,
} from './journal.ts';
import type { KeyedHash } from '../people/handles.ts';
import { createStepsReader } from './journal-sql-steps.ts';
import type { Steps, WithSteps } from './journal-sql-steps.ts';

type Row = Selectable<Schema['messages']>;
type Rows = SelectQueryBuilder<Schema, 'messages', Row>;

const queried = guarded('the journal cannot be read');

/** Messages from before these times are deleted. */
export interface PruneTimes {
  readonly before: number;
  /** For locations with their own retention. */
  readonly byLocation: ReadonlyMap<string, number>;
  /** Not later than any of the others. */
  readonly stepsBefore: { readonly at: number; readonly requestId: string };
}

export interface PersonPage extends PersonQuery {
  readonly cursor?: string | undefined;
  readonly limit: number;
}

/** Maximum queries in one union. SQLite accepts 500. */
const MAX_PARTS = 100;
const DELETE_BATCH = 200;
const READ_BATCH = 2000;
const HOUR_MS = 3_600_000;
const MAX_SENDS = 30;
const MAX_REQUESTS = 100;
/** The numbers of all blocks, highest first, then null. Takes one index lookup per block, whatever the number of messages. */
const BLOCKS = sql`
  WITH RECURSIVE blocks (number) AS (
    SELECT max(block) FROM messages
    UNION ALL
    SELECT (SELECT max(block) FROM messages WHERE block < blocks.number) FROM blocks WHERE blocks.number IS NOT NULL
  ) SELECT number FROM blocks`;
/** SQLite accepts 32,766 parameters per statement, and PostgreSQL 65,535. */
const MAX_PARAMETERS = 32_000;

export interface ReaderDeps {
  readonly database: Pick<Queries, 'db' | 'engine'>;
  readonly hash: KeyedHash;
  /** Writes what this node has recorded. */
  readonly flush: () => Promise<void>;
}

/** Reads the journal's tables. Reads include the steps that this node has recorded but not written yet. */
export function createReader({ database: { db, engine }, hash, flush }: ReaderDeps) {
  const read =
    <Query extends unknown[], T>(query: (...args: Query) => Promise<T>) =>
    async (...args: Query): Promise<T> => {
      await flush();
      return await queried(() => query(...args));
    };
  const readSteps = createStepsReader(db);
  const all: Rows = db.selectFrom('messages').selectAll();

  return {
    list: read(
      async (query: MessageQuery): Promise<{ messages: MessageSummary[]; cursor: string | null }> => {
        const { locationIds, state, direction, kind, code, handles, contactId, limit } = query;
        if (locationIds?.length === 0) return { messages: [], cursor: null };
        const isOfPerson = handles !== undefined || contactId !== undefined;
        let rows = isOfPerson
          ? inBlocks(handles === undefined ? 'messages_contact_hash' : 'messages_phone_hash')
          : all;
        if (state !== undefined) rows = rows.where('status', '=', state);
        if (direction !== undefined) rows = rows.where('direction', '=', sql.lit(direction));
        if (kind !== undefined) rows = rows.where('kind', '=', kind);
        // SQLite uses a partial index only for a query that repeats the condition of the index.
        const isRareState = state !== undefined && state !== 'delivered';
        if (isRareState) rows = rows.where('status', '<>', sql.lit('delivered'));
        const isRareKind = kind !== undefined && kind !== 'text';
        if (isRareKind) rows = rows.where('kind', '<>', sql.lit('text'));
        if (code !== undefined) rows = rows.where('code', '=', code);
        if (query.from !== undefined) rows = rows.where('created_at', '>=', query.from);
        if (query.until !== undefined) rows = rows.where('created_at', '<', query.until);
        // One query per key: with `in` a database sorts all messages of a customer instead of reading the newest from the index.
        let queries =
          isRareState || isRareKind || code !== undefined || isOfPerson
            ? [atLocations(rows, locationIds)]
            : ofEachLocation(rows, locationIds);
        if (handles !== undefined)
          queries = hashesOf(handles).flatMap((value) =>
            queries.map((one) => one.where('phone_hash', '=', value)),
          );
        if (contactId !== undefined)
          queries = hash
            .contact(contactId)
            .flatMap((value) => queries.map((one) => one.where('contact_hash', '=', value)));
        const page = await pageOf(queries, query.cursor, limit, isOfPerson ? newestOfPerson : newest);
        return { ...page, messages: page.messages.map(({ row, steps }) => summaryOf(row, steps)) };
      },
    ),

    /** Resolves with a page of messages and their steps, newest first. */
    ofPerson: read(async ({ cursor, limit, ...person }: PersonPage) => {
      const page = await pageOf(await queriesOf(person), cursor, limit, newestOfPerson);
      return {
        ...page,
        messages: page.messages.map(({ row, steps }) => trailWith(row, steps)),
      };
    }),

    /** Deletes the messages. Resolves with their number. What another node has not written yet is not deleted. */
    erase: read(async (person: PersonQuery): Promise<number> => {
      // Before the first deletion: afterwards it is no longer known which contacts the person has.
      const queries = await queriesOf(person);
      let erased = 0;
      for (const rows of queries)
        erased += await deleteBatches((batch) => rows.clearSelect().select('id').limit(batch));
      return erased;
    }),

    /**
     * Finds an entry by its id, then by the messageId of the CRM, then by the GUID of an inbound message. Of several entries the newest
     * counts. Without `locationIds`, searches all locations.
     */
    show: read(async (id: string, locationIds?: readonly string[]): Promise<MessageTrail | undefined> => {
      if (locationIds?.length === 0) return undefined;
      const byId = await atLocations(all.where('id', '=', id), locationIds).executeTakeFirst();
      const row = byId ?? (await newestWith(id, locationIds));
      return row === undefined ? undefined : trailOf(row);
    }),

    /** Resolves with the entries of a message, at most the newest hundred, oldest first. */
    requestsOf: read(async ({ direction, locationId, messageId }: MessageKey): Promise<MessageTrail[]> => {
      const rows = withMessageId(direction, messageId).where('location_id', '=', locationId);
      const found = await newest(rows, MAX_REQUESTS).execute();
      const steps = await readSteps(found);
      return found.toReversed().map((row) => trailWith(row, steps.get(row.id) ?? []));
    }),

    /** Resolves with the time of the newest webhook of each of these locations that has one. One index lookup per location, whatever the number of messages. */
    lastWebhooks: read(async (locationIds: readonly string[]): Promise<ReadonlyMap<string, number>> => {
      if (locationIds.length === 0) return new Map();
      const { rows } = await sql<{ id: string; last: number | null }>`
        WITH asked (id) AS (VALUES ${sql.join(locationIds.map((id) => sql`(${id})`))})
        SELECT id, (
          SELECT created_at FROM messages
          WHERE location_id = asked.id AND direction = 'outbound'
          ORDER BY created_at DESC LIMIT 1
        ) AS last FROM asked`.execute(db);
      return new Map(rows.flatMap(({ id, last }) => (last === null ? [] : [[id, last]])));
    }),

    /** Resolves with the number of messages of a span of time, by bucket, direction, state and code. */
    counts: read(async ({ locationIds, from, until, bucketMs }: CountQuery): Promise<MessageCount[]> => {
      if (locationIds?.length === 0) return [];
      let rows = db
        .selectFrom('messages')
        .select(['direction', 'status', 'code'])
        .select(sql<number>`cast((created_at - ${from}) / ${bucketMs} as integer)`.as('bucket'))
        .where('created_at', '>=', from)
        .where('created_at', '<', until);
      if (locationIds !== undefined) rows = rows.where('location_id', 'in', locationIds);
      const found = await db
        .selectFrom(rows.as('rows'))
        .select(['bucket', 'direction', 'status', 'code'])
        .select((eb) => eb.fn.countAll().as('count'))
        .groupBy(['bucket', 'direction', 'status', 'code'])
        .execute();
      return found.map(({ bucket, direction, status, code, count }) => ({
        from: from + bucket * bucketMs,
        direction,
        state: status as MessageState,
        code,
        count: Number(count),
      }));
    }),

    /** Resolves with the newest messages and their steps, newest first. */
    newest: read(
      async ({
        locationIds,
        limit,
      }: Pick<MessageQuery, 'locationIds' | 'limit'>): Promise<MessageTrail[]> => {
        if (locationIds?.length === 0) return [];
        const queries = ofEachLocation(all, locationIds);
        const { messages } = await pageOf(queries, undefined, limit, newest);
        return messages.map(({ row, steps }) => trailWith(row, steps));
      },
    ),

    /** Resolves with a time of each hour since `from` in which the location received a message, and the time of its newest one. One index lookup per hour with a message, whatever the number of messages. */
    inboundHours: read(async (locationId: string, from: number): Promise<number[]> => {
      const first = (after: RawBuilder<unknown>) => sql`(
        SELECT created_at FROM messages
        WHERE location_id = ${locationId} AND direction = 'inbound' AND created_at >= ${after}
        ORDER BY created_at LIMIT 1)`;
      const { rows } = await sql<{ at: number }>`
        WITH RECURSIVE hours (at) AS (
          SELECT ${first(sql`CAST(${from} AS bigint)`)}
          UNION ALL
          SELECT ${first(sql`(hours.at / ${sql.lit(HOUR_MS)} + 1) * ${sql.lit(HOUR_MS)}`)} FROM hours WHERE hours.at IS NOT NULL
        ) SELECT at FROM hours WHERE at IS NOT NULL`.execute(db);
      const last = await db
        .selectFrom('messages')
        .select('created_at')
        .where('location_id', '=', locationId)
        .where('direction', '=', 'inbound')
        .where('created_at', '>=', from)
        .orderBy('created_at', 'desc')
        .limit(1)
        .execute();
      return [...rows.map(({ at }) => at), ...last.map(({ created_at }) => created_at)];
    }),

    /** Resolves with the time of the newest inbound message of each location that received one since then. */
    lastInbound: read(async (since: number): Promise<ReadonlyMap<string, number>> => {
      return newestByLocation(db.selectFrom('messages').where('direction', '=', sql.lit('inbound')), since);
    }),

    /**
     * Resolves with the newest sends, newest first, of each location that was asked since `from` to send a message that failed on the Mac or has no
     * result. A few per location.
     */
    troubledSends: read(async (from: number): Promise<ReadonlyMap<string, readonly RecentSend[]>> => {
      const sends = new Map<string, readonly RecentSend[]>();
      for (const location_id of await troubledLocations(from)) {
        const rows = await db
          .selectFrom('messages')
          .select(['status', 'code', 'phone_hash', 'created_at', 'updated_at'])
          .where('location_id', '=', location_id)
          .where('direction', '=', 'outbound')
          .where('status', 'in', ['written', 'pending', 'failed', 'delivered'])
          .where('created_at', '>=', from)
          .orderBy('created_at', 'desc')
          .limit(MAX_SENDS)
          .execute();
        sends.set(location_id, rows.map(sendOf));
        await nextTurn();
      }
      return sends;
    }),

    /** Resolves with the number of messages in this period that were written to a Mac and have no result. */
    unfinishedSends: read(async (from: number, until: number): Promise<number> => {
      const found = await db
        .selectFrom('messages')
        .select((eb) => eb.fn.countAll().as('count'))
        .where('status', 'in', ['written', 'pending'])
        // The condition of the partial index on unfinished messages.
        .where('status', '<>', sql.lit('delivered'))
        .where('direction', '=', 'outbound')
        .where('created_at', '>=', from)
        .where('created_at', '<', until)
        .executeTakeFirst();
      return Number(found?.count ?? 0);
    }),

    /** Resolves with the code of an entry: null if it has none, undefined if there is no such entry. */
    codeOf: read(async (id: string): Promise<string | null | undefined> => {
      const row = await db.selectFrom('messages').select('code').where('id', '=', id).executeTakeFirst();
      return row?.code;
    }),

    /** Resolves with the statuses of a request that were sent to the CRM. */
    sentStatuses: read(async (requestId: string): Promise<SentStatuses | undefined> => {
      const row = await db
        .selectFrom('messages')
        .select(['id', 'location_id', 'message_id', 'steps'])
        .where('id', '=', requestId)
        .executeTakeFirst();
      if (row === undefined) return undefined;
      const statuses = acceptedOf(await stepsOf(row));
      return { locationId: row.location_id, messageId: row.message_id, statuses };
    }),

    /**
     * Resolves with whether one of the newest requests for an outbound message before that time was delivered. Leaves out what this node has not
     * written yet.
     */
    wasDelivered: async (
      { locationId, messageId }: Omit<MessageKey, 'direction'>,
      before: number,
    ): Promise<boolean> => {
      const requests = withMessageId('outbound', messageId)
        .where('location_id', '=', locationId)
        // A sum, or PostgreSQL may read all messages of that time.
        .where(sql<boolean>`created_at + 0 < ${before}`);
      const delivered = await db
        .selectFrom(newest(requests, MAX_REQUESTS).as('requests'))
        .select('status')
        .where('status', '=', 'delivered')
        .limit(1)
        .executeTakeFirst();
      return delivered !== undefined;
    },

    /** Deletes what is older than these times. Resolves with the number of messages. */
    prune: async ({ before, byLocation, stepsBefore }: PruneTimes): Promise<number> => {
      const old = (cutoff: number) =>
        db.selectFrom('messages').select('id').where('created_at', '<', cutoff).orderBy('created_at');
      let others = old(before);
      if (byLocation.size > 0) others = others.where('location_id', 'not in', [...byLocation.keys()]);
      let pruned = await deleteBatches((batch) => others.limit(batch));
      for (const [locationId, cutoff] of byLocation)
        pruned += await deleteBatches((batch) =>
          old(cutoff).where('location_id', '=', locationId).limit(batch),
        );
      // Steps whose message was never written. Ids sort by time.
      await db
        .deleteFrom('message_steps')
        .where('message_id', '<', stepsBefore.requestId)
        .where('at', '<', stepsBefore.at)
        .execute();
      return pruned;
    },
  };

  /** Reads in parts, so that other work runs in between: in an outage, all messages of a day may be unfinished or failed. */
  async function troubledLocations(from: number): Promise<ReadonlySet<string>> {
    const found = new Set<string>();
    for (const status of ['written', 'pending', 'failed']) {
      const rows = db
        .selectFrom('messages')
        .where('status', '=', status)
        // The condition of the partial index.
        .where('status', '<>', sql.lit('delivered'))
        .where('direction', '=', sql.lit('outbound'));
      for (const locationId of (await newestByLocation(rows, from)).keys()) found.add(locationId);
    }
    return found;
  }

  /**
   * Resolves with the time of the newest of these messages for each location. Reads only messages since `from`, batch by batch: for a grouped
   * query over all of them, SQLite would scan the whole index by location.
   */
  async function newestByLocation(
    rows: SelectQueryBuilder<Schema, 'messages', {}>,
    from: number,
  ): Promise<Map<string, number>> {
    const times = new Map<string, number>();
    let next = from;
    for (let found = READ_BATCH; found === READ_BATCH;) {
      const part = rows
        .select(['location_id', 'created_at'])
        .where('created_at', '>=', next)
        .orderBy('created_at')
        .limit(READ_BATCH);
      const locations = await db
        .selectFrom(part.as('part'))
        .select(['location_id'])
        .select((eb) => [eb.fn.max('created_at').as('newest'), eb.fn.countAll().as('count')])
        .groupBy('location_id')
        .execute();
      // The batches are in the order of time.
      for (const { location_id, newest } of locations) times.set(location_id, newest);
      found = locations.reduce((sum, { count }) => sum + Number(count), 0);
      next = Math.max(next + 1, ...locations.map(({ newest }) => newest));
      await nextTurn();
    }
    return times;
  }

  async function newestWith(
    messageId: string,
    locationIds: readonly string[] | undefined,
  ): Promise<Row | undefined> {
    const outbound = await newestOfLocations('outbound', messageId, locationIds);
    if (outbound !== undefined) return outbound;
    return engine === 'postgres'
      ? newestOfLocations('inbound', messageId, locationIds)
      : newest(atLocations(withMessageId('inbound', messageId), locationIds), 1).executeTakeFirst();
  }

  /**
   * Takes a few index lookups per location with this message id, whatever the number of messages. A comparison by the time of the messages
   * would sometimes make PostgreSQL read all messages by time until it finds one.
   */
  async function newestOfLocations(
    direction: MessageSummary['direction'],
    messageId: string,
    locationIds: readonly string[] | undefined,
  ): Promise<Row | undefined> {
    const wanted = locationIds === undefined ? sql`` : sql`AND location_id IN (${sql.join(locationIds)})`;
    const entries = sql`messages WHERE message_id = ${messageId} AND direction = ${sql.lit(direction)}`;
    const location = (after: RawBuilder<unknown>) => sql`(
      SELECT location_id FROM ${entries} ${after} ORDER BY location_id LIMIT 1)`;
    const newestIn = (column: 'id' | 'created_at') => sql`(
      SELECT ${sql.ref(column)} FROM ${entries} AND location_id = places.location_id
      ORDER BY created_at DESC LIMIT 1)`;
    const { rows } = await sql<{ id: string }>`
      WITH RECURSIVE places (location_id) AS (
        SELECT ${location(sql``)}
        UNION ALL
        SELECT ${location(sql`AND location_id > places.location_id`)} FROM places WHERE places.location_id IS NOT NULL
      ) SELECT ${newestIn('id')} AS id, ${newestIn('created_at')} AS at
      FROM places WHERE location_id IS NOT NULL ${wanted} ORDER BY at DESC LIMIT 1`.execute(db);
    const [found] = rows;
    return found && all.where('id', '=', found.id).executeTakeFirst();
  }

  /** In SQLite, each direction has a partial index, which is only used if the query repeats its condition. */
  function withMessageId(direction: MessageSummary['direction'], messageId: string): Rows {
    const rows = direction === 'inbound' ? inBlocks('messages_guid') : all;
    return rows.where('direction', '=', sql.lit(direction)).where('message_id', '=', messageId);
  }

  function newestOfAll(queries: readonly Rows[], limit: number): Promise<Row[]> {
    const parts = queries.map((one) => sql`select * from (${one}) as part`);
    return db
      .selectFrom(sql<Row>`(${sql.join(parts, sql` union all `)})`.as('parts'))
      .selectAll()
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(limit)
      .execute();
  }

  /**
   * Returns the rows to search. In SQLite, they are read with this index, block by block. The index must be named: SQLite would sometimes
   * choose the index of a filter, and read it again for every block. PostgreSQL chooses an index itself.
   */
  function inBlocks(index: 'messages_phone_hash' | 'messages_contact_hash' | 'messages_guid'): Rows {
    if (engine === 'postgres') return all;
    const table = sql<Row>`(${BLOCKS}) AS blocks CROSS JOIN messages`.as<'messages'>(
      sql`messages INDEXED BY ${sql.ref(index)}`,
    );
    return db
      .selectFrom(table)
      .selectAll('messages')
      .where('block', '=', sql<number>`blocks.number`);
  }

  /** First finds the time of the last row, for which SQLite only needs the index. It then reads no older messages of the person. */
  function newestOfPerson(rows: Rows, limit: number): Rows {
    if (engine === 'postgres') return newest(rows, limit);
    const lastTime = rows
      .clearSelect()
      .select('created_at')
      .orderBy('created_at', 'desc')
      .offset(limit - 1)
      .limit(1);
    return newest(rows.where('created_at', '>=', sql<number>`coalesce((${lastTime}), 0)`), limit);
  }

  /** Resolves with a page of the rows of all queries, newest first, and the cursor of the next one. */
  async function pageOf(
    queries: readonly Rows[],
    cursor: string | undefined,
    limit: number,
    select: (rows: Rows, limit: number) => Rows,
  ): Promise<{ messages: { row: Row; steps: Steps }[]; cursor: string | null }> {
    if (queries.length === 0) return { messages: [], cursor: null };
    const from = cursor === undefined ? undefined : readCursor(cursor);
    const older = (rows: Rows) =>
      from === undefined
        ? rows
        : rows
            // Implied by the next condition, but in a form that an index can use.
            .where('created_at', '<=', from.createdAt)
            .where((row) =>
              row.or([
                row('created_at', '<', from.createdAt),
                row.and([row('created_at', '=', from.createdAt), row('id', '<', from.id)]),
              ]),
            );
    const newestOfEach = queries.map((rows) => select(older(rows), limit + 1));
    const parameters = newestOfEach[0]?.compile().parameters.length ?? 0;
    const parts = Math.max(1, Math.min(MAX_PARTS, Math.floor(MAX_PARAMETERS / (parameters + 1))));
    let found: Row[] = [];
    for (let start = 0; start < newestOfEach.length; start += parts) {
      if (start > 0) await nextTurn();
      const rows = await newestOfAll(newestOfEach.slice(start, start + parts), limit + 1);
      found = start === 0 ? rows : [...found, ...rows].sort(newestFirst).slice(0, limit + 1);
    }
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const steps = await readSteps(page);
    return {
      messages: page.map((row) => ({ row, steps: steps.get(row.id) ?? [] })),
      cursor: found.length > limit && last !== undefined ? writeCursor(last) : null,
    };
  }

  function hashesOf(handles: readonly string[]): string[] {
    return [...new Set(handles.flatMap((one) => hash.handle(one)))];
  }

  /** Resolves with queries for the messages of a person. No message is in two of them. */
  async function queriesOf({ handles, locationIds }: PersonQuery): Promise<Rows[]> {
    const phones = hashesOf(handles);
    if (phones.length === 0 || locationIds?.length === 0) return [];
    const contacts = await inBlocks('messages_phone_hash')
      .clearSelect()
      .select('contact_hash')
      .distinct()
      .where('phone_hash', 'in', phones)
      .where('contact_hash', 'is not', null)
      .execute();
    const queries = [
      ...phones.map((phone) => inBlocks('messages_phone_hash').where('phone_hash', '=', phone)),
      ...contacts.map(({ contact_hash }) =>
        all.where('phone_hash', 'is', null).where('contact_hash', '=', contact_hash),
      ),
    ];
    return queries.map((rows) => atLocations(rows, locationIds));
  }

  /** Deletes in batches, so that no other statement waits long for the tables. Resolves with the number of messages. */
  async function deleteBatches(
    select: (batch: number) => { execute(): Promise<{ id: string }[]> },
  ): Promise<number> {
    for (let deleted = 0; ;) {
      const ids = (await select(DELETE_BATCH).execute()).map(({ id }) => id);
      if (ids.length > 0) {
        await db.deleteFrom('message_steps').where('message_id', 'in', ids).execute();
        await db.deleteFrom('messages').where('id', 'in', ids).execute();
      }
      deleted += ids.length;
      if (ids.length < DELETE_BATCH) return deleted;
      // SQLite runs on this thread: without a pause, nothing else would run until all batches are deleted.
      await nextTurn();
    }
  }

  async function trailOf(row: Row): Promise<MessageTrail> {
    return trailWith(row, await stepsOf(row));
  }

  async function stepsOf(row: WithSteps): Promise<Steps> {
    return (await readSteps([row])).get(row.id) ?? [];
  }
}

const newest = (rows: Rows, limit: number): Rows =>
  rows.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit);

const atLocations = (rows: Rows, locationIds: readonly string[] | undefined): Rows =>
  locationIds === undefined ? rows : rows.where('location_id', 'in', locationIds);

/** One query per location: with `in`, SQLite sorts all their messages instead of reading the newest of each from the index (T54). */
const ofEachLocation = (rows: Rows, locationIds: readonly string[] | undefined): Rows[] =>
  locationIds === undefined
    ? [rows]
    : [...new Set(locationIds)].map((locationId) => rows.where('location_id', '=', locationId));

/** The statuses that the CRM accepted, in order. */
const acceptedOf = (steps: Steps): SentStatus[] =>
  steps.filter(({ step }) => step === 'status_sent').map(({ detail }) => detail?.['status'] as SentStatus);

const sendOf = (
  row: Pick<Row, 'status' | 'code' | 'phone_hash' | 'created_at' | 'updated_at'>,
): RecentSend => ({
  state: row.status as MessageState,
  code: row.code,
  person: row.phone_hash,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});

const summaryOf = (row: Row, steps: Steps): MessageSummary => ({
  id: row.id,
  direction: row.direction,
  locationId: row.location_id,
  messageId: row.message_id,
  messageGuid: guidOf(row, steps),
  kind: row.kind,
  phoneMasked: row.phone_masked,
  length: row.length,
  state: row.status as MessageState,
  code: row.code,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});

const trailWith = (row: Row, steps: Steps): MessageTrail => ({ ...summaryOf(row, steps), steps });

function guidOf({ direction, message_id }: Row, steps: Steps): string | null {
  if (direction === 'inbound') return message_id;
  const guid = steps.findLast(({ step }) => step === 'mac_reported')?.detail?.['guid'];
  return typeof guid === 'string' ? guid : null;
}

const newestFirst = (left: Row, right: Row): number =>
  right.created_at - left.created_at || (left.id < right.id ? 1 : -1);

const writeCursor = (row: Pick<Row, 'created_at' | 'id'>) =>
  Buffer.from(`${row.created_at} ${row.id}`).toString('base64url');

/** An invalid cursor starts at the newest message. */
function readCursor(cursor: string): { createdAt: number; id: string } | undefined {
  const [, createdAt, id] =
    /^(\d{1,15}) (.{1,256})$/s.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  return createdAt === undefined || id === undefined ? undefined : { createdAt: Number(createdAt), id };
}
