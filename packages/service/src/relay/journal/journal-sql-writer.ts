import { sql } from 'kysely';
import type { RawBuilder } from 'kysely';

import type { Queries } from '../../platform/sql/open-database.ts';
import { queriesBySize } from '../../platform/sql/queries.ts';
import type { JournalEntry, MessageState, Recorded, StepDetail, StepName } from './journal.ts';

const DAY_MS = 86_400_000;
/** With larger blocks, each message changes more pages of an index. With more blocks, a search for a person or a GUID takes longer. */
const BLOCK_SIZE = 1024;
/** On a day with more messages than these blocks hold, the last block contains the rest. */
const BLOCKS_PER_DAY = 10_000;

/** Returns the block of the `nth` message of a day. */
export const blockOf = (createdAt: number, nth: number): number =>
  Math.floor(createdAt / DAY_MS) * BLOCKS_PER_DAY +
  Math.min(Math.floor(nth / BLOCK_SIZE), BLOCKS_PER_DAY - 1);

/**
 * Assigns messages to blocks of about a thousand in the order in which they are written. After a restart, blocks begin again at the first
 * block of the day, which then becomes larger.
 */
export class MessageBlocks {
  #first = 0;
  #written = 0;

  /** Returns the block for the next messages. The time decides the day. */
  blockAt(createdAt: number): number {
    const first = blockOf(createdAt, 0);
    if (first !== this.#first) this.#written = 0;
    this.#first = first;
    return blockOf(createdAt, this.#written);
  }

  written(messages: number): void {
    this.#written += messages;
  }
}

/**
 * Steps that the tables have under another name. Nodes of version 0.1.0 know only these names, and read and write the same tables during a
 * rolling upgrade.
 */
const STORED_NAMES: readonly (readonly [name: StepName, stored: string])[] = [
  ['status_sent', 'crm_told'],
  ['mac_reported', 'mac_says'],
  ['crm_accepted', 'crm_took_it'],
];
const STORED = new Map<string, string>(STORED_NAMES);
const NAMES = new Map<string, StepName>(STORED_NAMES.map(([name, stored]) => [stored, name]));

export const storedName = (step: StepName): string => STORED.get(step) ?? step;

/** Returns the name of a step in the tables. */
export const nameOfStored = (stored: string): StepName => NAMES.get(stored) ?? (stored as StepName);

/** A step as it is stored. */
export type WrittenStep = [at: number, stored: string, detail?: StepDetail];

/** The changes of one message since the last flush. Written as one row: the cost of a flush grows with its rows. */
export interface Unwritten {
  readonly id: string;
  readonly seq: number;
  /** Monotonic. */
  readonly firstChangedAt: number;
  /** Set when the message was opened since the last flush. */
  entry: JournalEntry | undefined;
  /** Known of a message that another node opened. */
  message: Recorded['message'];
  handleHash: string | null;
  /** Null when it is not known, or not known since the last flush. */
  contactHash: string | null;
  createdAt: number;
  /** Undefined when the state did not change. */
  state: MessageState | undefined;
  code: string | null;
  updatedAt: number;
  /** Whether this request repeats a message and the CRM accepted `delivered` for it. */
  isDeliveredRepeat: boolean;
  readonly steps: WrittenStep[];
}

/** By message id, in the order of the first change. */
export type Batch = Map<string, Unwritten>;

/** Writes a batch in one transaction. Resolves with the ids of changed messages that do not exist in the database. */
export type WriteBatch = (batch: Batch) => Promise<string[]>;

const MAX_STEPS_LENGTH = 16_000;

export function createWriteBatch({ db, commit }: Queries): WriteBatch {
  const blocks = new MessageBlocks();
  let block = 0;
  const insertMessages = queriesBySize(
    (size) =>
      db
        .insertInto('messages')
        .values(repeat(size, MESSAGE))
        .onConflict((conflict) =>
          conflict.column('id').doUpdateSet(() => ({
            // Another node may have opened the message, because this one was slow. It knew the state, but not the rest.
            status: latest<string>(sql`excluded.status`, sql`excluded.status`, sql`messages.status`),
            code: latest<string>(sql`excluded.status`, sql`excluded.code`, sql`messages.code`),
            updated_at: latest<number>(
              sql`excluded.status`,
              sql`excluded.updated_at`,
              sql`messages.updated_at`,
            ),
            created_at: sql<number>`case when excluded.created_at < messages.created_at then excluded.created_at else messages.created_at end`,
            kind: sql<string>`case when messages.kind = 'text' then excluded.kind else messages.kind end`,
            length: sql<number>`case when messages.length = 0 then excluded.length else messages.length end`,
            phone_masked: sql<string>`coalesce(messages.phone_masked, excluded.phone_masked)`,
            phone_hash: sql<string>`coalesce(messages.phone_hash, excluded.phone_hash)`,
            contact_hash: sql<string>`coalesce(excluded.contact_hash, messages.contact_hash)`,
            told: sql<'delivered'>`coalesce(excluded.told, messages.told)`,
            // Caps the steps of a message that is opened again and again.
            steps: sql<string>`case when length(messages.steps) > ${sql.lit(MAX_STEPS_LENGTH)} then messages.steps
            else coalesce(messages.steps || ${sql.lit('\n')}, '') || excluded.steps end`,
          })),
        )
        .compile(),
    (unwritten: Unwritten) => messageRow(unwritten, block),
  );
  const insertSteps = queriesBySize(
    (size) => db.insertInto('message_steps').values(repeat(size, STEP)).compile(),
    stepsRow,
  );
  const changeMessages = queriesBySize((size) => {
    const rows = sql.join(repeat(size, sql`(${''}, ${''}, ${''}, ${''}, ${''}, ${''})`));
    const state = sql`v.column2`;
    return sql`update messages
      set status = ${latest(state, state, sql`messages.status`)},
        code = ${latest(state, sql`v.column3`, sql`messages.code`)},
        updated_at = ${latest(state, sql`cast(v.column4 as bigint)`, sql`messages.updated_at`)},
        contact_hash = coalesce(v.column5, messages.contact_hash),
        told = coalesce(v.column6, messages.told)
      from (values ${rows}) as v where messages.id = v.column1 returning messages.id as id`.compile(db);
  }, changeRow);

  return async function writeBatch(batch) {
    const all = [...batch.values()];
    // Ordered by id, so that the transactions of two nodes cannot deadlock.
    const inserts = all.filter(({ entry }) => entry !== undefined).sort(byId);
    const known = all.filter(({ entry }) => entry === undefined);
    const changes = known
      .filter(({ state, isDeliveredRepeat }) => state !== undefined || isDeliveredRepeat)
      .sort(byId);
    const stepped = known.filter(({ steps }) => steps.length > 0);
    const [first] = inserts;
    if (first !== undefined) block = blocks.blockAt(first.createdAt);
    const results = await commit([
      ...insertMessages(inserts),
      ...changeMessages(changes),
      ...insertSteps(stepped),
    ]);
    blocks.written(inserts.length);
    const changed = new Set(results.flatMap(({ rows }) => rows as { id: string }[]).map(({ id }) => id));
    return changes.map(({ id }) => id).filter((id) => !changed.has(id));
  };
}

/** `newer`, unless its state is missing or comes before the stored one: another node may already have written a later state. */
const latest = <T>(newState: RawBuilder<unknown>, newer: RawBuilder<unknown>, stored: RawBuilder<unknown>) =>
  sql<T>`case when ${rank(newState)} >= ${rank(sql`messages.status`)} then ${newer} else ${stored} end`;

/**
 * The states of an outbound message before the last one, in order. A node also rejects a message when it does not know whether another node
 * has written it. The states of an inbound message have no order, because delivery can be tried again.
 */
const EARLY_STATES: readonly MessageState[] = ['accepted', 'rejected', 'written', 'pending'];

/** A state never replaces one of a higher rank. */
export function rankOf(state: MessageState | undefined): number {
  if (state === undefined) return 0;
  return EARLY_STATES.includes(state) ? EARLY_STATES.indexOf(state) + 1 : EARLY_STATES.length + 1;
}

/** The same as `rankOf`. */
const rank = (state: RawBuilder<unknown>) =>
  sql`case coalesce(${state}, '') when '' then 0 ${sql.join(
    EARLY_STATES.map((early, index) => sql`when ${sql.lit(early)} then ${sql.lit(index + 1)}`),
    sql` `,
  )} else ${sql.lit(EARLY_STATES.length + 1)} end`;

const byId = (left: Unwritten, right: Unwritten): number => (left.id < right.id ? -1 : 1);

const repeat = <T>(size: number, item: T): T[] => Array.from({ length: size }, () => item);

// Placeholder rows that define the columns of the queries; `messageRow` and `stepsRow` return values in the same order.
const MESSAGE = {
  id: '',
  direction: 'outbound' as const,
  location_id: '',
  message_id: '',
  kind: '',
  status: '',
  code: '',
  phone_masked: '',
  phone_hash: '',
  contact_hash: '',
  length: 0,
  created_at: 0,
  updated_at: 0,
  told: null,
  steps: '',
  block: 0,
};
const STEP = { message_id: '', seq: 0, at: 0, step: '', detail: '' };

const messageRow = (
  {
    id,
    entry,
    handleHash,
    contactHash,
    state,
    code,
    createdAt,
    updatedAt,
    isDeliveredRepeat,
    steps,
  }: Unwritten,
  block: number,
): unknown[] => [
  id,
  entry?.direction,
  entry?.locationId,
  entry?.messageId,
  entry?.kind,
  state,
  code,
  entry?.phoneMasked,
  handleHash,
  contactHash,
  entry?.length,
  createdAt,
  updatedAt,
  toldOf(isDeliveredRepeat),
  JSON.stringify(steps),
  block,
];
const changeRow = ({ id, state, code, updatedAt, contactHash, isDeliveredRepeat }: Unwritten): unknown[] => [
  id,
  state ?? null,
  code,
  String(updatedAt),
  contactHash,
  toldOf(isDeliveredRepeat),
];
const toldOf = (isDeliveredRepeat: boolean) => (isDeliveredRepeat ? 'delivered' : null);
const stepsRow = ({ id, seq, steps }: Unwritten): unknown[] => [
  id,
  seq,
  steps[0]?.[0],
  steps.at(-1)?.[1],
  JSON.stringify(steps),
];
