import { sql } from 'kysely';
import type { CompiledQuery } from 'kysely';

import type { Database } from '../../sql/open-database.ts';
import type { JournalEntry, MessageState, StepDetail, StepName } from './journal.ts';

/** `[time, step, detail]`, as it is stored. */
export type WrittenStep = [at: number, step: StepName, detail?: StepDetail];

/** What is new of one message since the last flush. Written as one row, because rows are what writing costs. */
export interface Unwritten {
  readonly id: string;
  readonly seq: number;
  /** When the message was opened since. */
  entry: JournalEntry | undefined;
  createdAt: number;
  /** Undefined when it did not change. */
  state: MessageState | undefined;
  code: string | null;
  updatedAt: number;
  readonly steps: WrittenStep[];
}

/** By id, in the order of their first news. */
export type Batch = Map<string, Unwritten>;

/** Writes a batch in one transaction and answers which changes found no message to change. */
export type WriteBatch = (batch: Batch) => Promise<string[]>;

// Few sizes, so that the engine's cache of prepared statements holds all of them.
const SIZES = [64, 8, 1];
const LONGEST_STEPS = 16_000;

/** Rows by the dozen: queries are built once per size and only their parameters change, which is most of their cost. */
export function createWriteBatch(db: Database): WriteBatch {
  const insertMessages = bySize((size) =>
    db
      .insertInto('messages')
      .values(repeat(size, MESSAGE))
      .onConflict((conflict) =>
        conflict.column('id').doUpdateSet((row) => ({
          status: row.ref('excluded.status'),
          code: row.ref('excluded.code'),
          updated_at: row.ref('excluded.updated_at'),
          // One that comes again and again tells nothing new in the end.
          steps: sql<string>`case when length(messages.steps) > ${sql.lit(LONGEST_STEPS)} then messages.steps
            else coalesce(messages.steps || ${sql.lit('\n')}, '') || excluded.steps end`,
        })),
      )
      .compile(),
  );
  const insertSteps = bySize((size) => db.insertInto('message_steps').values(repeat(size, STEP)).compile());
  const changeMessages = bySize((size) => {
    const rows = sql.join(repeat(size, sql`(${''}, ${''}, ${''}, ${''})`));
    return sql`update messages
      set status = v.column2, code = v.column3, updated_at = cast(v.column4 as bigint)
      from (values ${rows}) as v where messages.id = v.column1 returning messages.id as id`.compile(db);
  });

  return async function writeBatch(batch) {
    const all = [...batch.values()];
    const opened = all.filter(({ entry }) => entry !== undefined);
    // In the order of ids, so that two nodes never wait for each other.
    const changes = all
      .filter(({ entry, state }) => entry === undefined && state !== undefined)
      .sort((left, right) => (left.id < right.id ? -1 : 1));
    const orphans = new Set(changes.map(({ id }) => id));
    await db.transaction().execute(async (trx) => {
      const run = async <T>(items: readonly T[], queries: Queries, toRow: (item: T) => unknown[]) => {
        const found: unknown[] = [];
        for (const { query, slice } of queries(items)) {
          const { rows } = await trx.executeQuery({ ...query, parameters: slice.flatMap(toRow) });
          found.push(...rows);
        }
        return found;
      };
      await run(opened, insertMessages, messageRow);
      const changed = await run(changes, changeMessages, changeRow);
      for (const row of changed) orphans.delete((row as { id: string }).id);
      const stepped = all.filter(({ entry, steps }) => entry === undefined && steps.length > 0);
      await run(stepped, insertSteps, stepsRow);
    });
    return [...orphans];
  };
}

type Queries = <T>(items: readonly T[]) => Iterable<{ query: CompiledQuery; slice: readonly T[] }>;

function bySize(build: (size: number) => CompiledQuery): Queries {
  const built = new Map<number, CompiledQuery>();
  return function* queries(items) {
    for (let from = 0; from < items.length;) {
      const left = items.length - from;
      const size = SIZES.find((one) => one <= left) ?? 1;
      const query = built.get(size) ?? build(size);
      built.set(size, query);
      yield { query, slice: items.slice(from, from + size) };
      from += size;
    }
  };
}

const repeat = <T>(size: number, item: T): T[] => Array.from({ length: size }, () => item);

// Stand-ins that give the queries their columns; `messageRow` and `stepsRow` give the values in the same order.
const MESSAGE = {
  id: '',
  direction: 'outbound' as const,
  location_id: '',
  message_id: '',
  kind: '',
  status: '',
  code: '',
  phone_masked: '',
  length: 0,
  created_at: 0,
  updated_at: 0,
  steps: '',
};
const STEP = { message_id: '', seq: 0, at: 0, step: '', detail: '' };

const messageRow = ({ id, entry, state, code, createdAt, updatedAt, steps }: Unwritten): unknown[] => [
  id,
  entry?.direction,
  entry?.locationId,
  entry?.messageId,
  entry?.kind,
  state,
  code,
  entry?.phoneMasked,
  entry?.length,
  createdAt,
  updatedAt,
  JSON.stringify(steps),
];
const changeRow = ({ id, state, code, updatedAt }: Unwritten): unknown[] => [
  id,
  state,
  code,
  String(updatedAt),
];
const stepsRow = ({ id, seq, steps }: Unwritten): unknown[] => [
  id,
  seq,
  steps[0]?.[0],
  steps.at(-1)?.[1],
  JSON.stringify(steps),
];
