import type { Clock } from '@footbridge/runtime/clock';

import { EngineError } from '../../platform/errors.ts';
import type { Database } from '../../platform/sql/open-database.ts';
import type { Captures } from './captures.ts';

export function createSqlCaptures({ db, clock }: { db: Database; clock: Pick<Clock, 'now'> }): Captures {
  return {
    set: ({ locationId, until }) =>
      withEngineError(async () => {
        await db.deleteFrom('captures').where('until_at', '<=', clock.now()).execute();
        await db
          .insertInto('captures')
          .values({ location_id: locationId, until_at: until })
          .onConflict((conflict) => conflict.column('location_id').doUpdateSet({ until_at: until }))
          .execute();
      }),

    remove: (locationId) =>
      withEngineError(async () => {
        const removed = await db
          .deleteFrom('captures')
          .where('location_id', '=', locationId)
          .returning('until_at')
          .executeTakeFirst();
        return removed !== undefined && removed.until_at > clock.now();
      }),

    list: () =>
      withEngineError(async () => {
        const rows = await db
          .selectFrom('captures')
          .selectAll()
          .where('until_at', '>', clock.now())
          .execute();
        return rows.map((row) => ({ locationId: row.location_id, until: row.until_at }));
      }),
  };
}

async function withEngineError<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (error) {
    throw new EngineError('sql', 'text captures cannot be read or changed', error);
  }
}
