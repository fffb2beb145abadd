import { guarded, inChunks } from '../../platform/sql/queries.ts';
import type { Database } from '../../platform/sql/open-database.ts';

declare module '../../platform/sql/schema.ts' {
  interface Schema {
    /** The names that operators gave to locations. `folded` is equal for names that a reader takes for the same. */
    location_names: { location_id: string; name: string; folded: string };
  }
}

const queried = guarded('the names of locations cannot be read or changed');

/** Returns the form in which names are compared: `Café  North` and `CAFÉ NORTH` are the same to a reader. */
export const folded = (name: string): string =>
  name.normalize('NFKC').toLowerCase().replaceAll(/\s+/gu, ' ').trim();

/** The names that operators gave to locations. */
export function locationNames(db: Database) {
  return {
    set: (locationId: string, name: string): Promise<void> =>
      queried(async () => {
        const values = { name, folded: folded(name) };
        await db
          .insertInto('location_names')
          .values({ location_id: locationId, ...values })
          .onConflict((conflict) => conflict.column('location_id').doUpdateSet(values))
          .execute();
      }),

    /** Resolves with whether the location had a name. */
    remove: (locationId: string): Promise<boolean> =>
      queried(async () => {
        const removed = await db
          .deleteFrom('location_names')
          .where('location_id', '=', locationId)
          .returning('location_id')
          .executeTakeFirst();
        return removed !== undefined;
      }),

    /** Resolves with the names of the locations that have one. */
    of: (locationIds: readonly string[]): Promise<ReadonlyMap<string, string>> =>
      queried(async () => {
        const rows = await inChunks(locationIds, (some) =>
          db.selectFrom('location_names').selectAll().where('location_id', 'in', some).execute(),
        );
        return new Map(rows.map(({ location_id, name }) => [location_id, name]));
      }),

    /** Resolves with the locations that share a name with another, ordered by id. */
    shared: (): Promise<string[]> =>
      queried(async () => {
        const rows = await db
          .selectFrom('location_names')
          .select('location_id')
          .where('folded', 'in', (names) =>
            names
              .selectFrom('location_names')
              .select('folded')
              .groupBy('folded')
              .having((having) => having.fn.countAll(), '>', 1),
          )
          .orderBy('location_id')
          .execute();
        return rows.map(({ location_id }) => location_id);
      }),
  };
}
