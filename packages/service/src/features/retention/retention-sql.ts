import { EngineError } from '../../platform/errors.ts';
import type { Database } from '../../platform/sql/open-database.ts';
import type { Retention } from './retention.ts';

export function createSqlRetention(db: Database): Retention {
  return {
    set: ({ locationId, journalDays, assetDays }) =>
      guarded(async () => {
        if (journalDays === null && assetDays === null) {
          await db.deleteFrom('location_retention').where('location_id', '=', locationId).execute();
          return;
        }
        const days = { journal_days: journalDays, asset_days: assetDays };
        await db
          .insertInto('location_retention')
          .values({ location_id: locationId, ...days })
          .onConflict((conflict) => conflict.column('location_id').doUpdateSet(days))
          .execute();
      }),
    of: (locationId) =>
      guarded(async () => {
        const row = await db
          .selectFrom('location_retention')
          .selectAll()
          .where('location_id', '=', locationId)
          .executeTakeFirst();
        return { journalDays: row?.journal_days ?? null, assetDays: row?.asset_days ?? null };
      }),
    list: (page) =>
      guarded(async () => {
        if (page?.locationIds?.length === 0) return [];
        let query = db.selectFrom('location_retention').selectAll().orderBy('location_id');
        if (page !== undefined) query = query.where('location_id', '>', page.after).limit(page.limit);
        if (page?.locationIds !== undefined) query = query.where('location_id', 'in', [...page.locationIds]);
        const rows = await query.execute();
        return rows.map((row) => ({
          locationId: row.location_id,
          journalDays: row.journal_days,
          assetDays: row.asset_days,
        }));
      }),
  };
}

async function guarded<T>(task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    throw new EngineError('sql', 'the retention of locations is unavailable', error);
  }
}
