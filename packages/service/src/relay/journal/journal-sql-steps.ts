import type { Selectable } from 'kysely';

import type { Database } from '../../platform/sql/open-database.ts';
import { placeholders, queriesBySize } from '../../platform/sql/queries.ts';
import type { Schema } from '../../platform/sql/schema.ts';
import type { MessageTrail } from './journal.ts';
import { nameOfStored } from './journal-sql-writer.ts';
import type { WrittenStep } from './journal-sql-writer.ts';

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
