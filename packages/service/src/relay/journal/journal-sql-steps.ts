import type { Selectable } from 'kysely';

import type { Database } from '../../platform/sql/open-database.ts';
import { placeholders, queriesBySize } from '../../platform/sql/queries.ts';
import type { Schema } from '../../platform/sql/schema.ts';
import type { StepName, MessageTrail } from './journal.ts';
import type { WrittenStep } from './journal-sql-writer.ts';

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

export type Steps = MessageTrail['steps'];
export type WithSteps = Pick<Selectable<Schema['messages']>, 'id' | 'steps'>;
type LaterSteps = Pick<Selectable<Schema['message_steps']>, 'message_id' | 'detail'>;

/** Resolves with the steps of each message, by its id. */
export type ReadSteps = (rows: readonly WithSteps[]) => Promise<ReadonlyMap<string, Steps>>;

export function createStepsReader(db: Database): ReadSteps {
  const stepsById = queriesBySize(
    (size) =>
      db
        .selectFrom('message_steps')
        .select(['message_id', 'detail'])
        .where('message_id', 'in', placeholders(size))
        .orderBy('at')
        .orderBy('seq')
        .compile(),
    (id: string) => [id],
  );

  return async (rows) => {
    const later: LaterSteps[] = [];
    for (const query of stepsById(rows.map(({ id }) => id)))
      later.push(...((await db.executeQuery(query)).rows as LaterSteps[]));
    const laterById = Map.groupBy(later, ({ message_id }) => message_id);
    return new Map(rows.map((row) => [row.id, inOrder(row, laterById.get(row.id) ?? [])]));
  };
}

/** Sorts whole lists, not single steps: the clock may have been set back between two steps. */
function inOrder({ steps }: WithSteps, later: readonly { detail: string | null }[]): Steps {
  return [...(steps ?? '[]').split('\n'), ...later.map(({ detail }) => detail ?? '[]')]
    .map((list) => JSON.parse(list) as WrittenStep[])
    .sort(([left], [right]) => (left?.[0] ?? 0) - (right?.[0] ?? 0))
    .flat()
    .map(([at, step, detail]) => ({ at, step: nameOfStored(step), detail: detail ?? null }));
}
