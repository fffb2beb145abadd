import { guarded } from '../../platform/sql/queries.ts';
import type { Database } from '../../platform/sql/open-database.ts';
import type { RetentionDays } from '../../relay/journal/retention.ts';

declare module '../../platform/sql/schema.ts' {
  interface Schema {
    /** Locations with their own retention. Null: the setting of the service. */
    location_retention: { location_id: string; journal_days: number | null; asset_days: number | null };
  }
}

export interface LocationRetention extends RetentionDays {
  readonly locationId: string;
}

interface Page {
  readonly limit: number;
  readonly after: string;
  readonly locationIds: readonly string[] | undefined;
}

const queried = guarded('the retention of locations is unavailable');

/** The locations with their own retention. */
export function retentions(db: Database) {
  return {
    /** Replaces both values of a location. With both null, the location no longer has its own. */
    set: ({ locationId, journalDays, assetDays }: LocationRetention): Promise<void> =>
      queried(async () => {
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

    /** Resolves with nulls for a location without its own values. */
    of: (locationId: string): Promise<RetentionDays> =>
      queried(async () => {
        const row = await db
          .selectFrom('location_retention')
          .selectAll()
          .where('location_id', '=', locationId)
          .executeTakeFirst();
        return { journalDays: row?.journal_days ?? null, assetDays: row?.asset_days ?? null };
      }),

    /** Lists all or a page, in the order of the database. An empty string starts at the beginning. */
    list: (page?: Page): Promise<LocationRetention[]> =>
      queried(async () => {
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
