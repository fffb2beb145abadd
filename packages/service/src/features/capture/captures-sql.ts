import type { Host } from '../../platform/host.ts';
import { guarded } from '../../platform/sql/queries.ts';

declare module '../../platform/sql/schema.ts' {
  interface Schema {
    /** Locations whose texts the operator may read until `until_at`. The texts are in memory only. */
    captures: { location_id: string; until_at: number };
  }
}

export interface Capture {
  readonly locationId: string;
  readonly until: number;
}

const queried = guarded('text captures cannot be read or changed');

/** The locations whose texts the operator may read for a limited time, and until when. The texts themselves are never stored. */
export function captures({ db, clock }: Pick<Host, 'db' | 'clock'>) {
  return {
    set: ({ locationId, until }: Capture): Promise<void> =>
      queried(async () => {
        await db.deleteFrom('captures').where('until_at', '<=', clock.now()).execute();
        await db
          .insertInto('captures')
          .values({ location_id: locationId, until_at: until })
          .onConflict((conflict) => conflict.column('location_id').doUpdateSet({ until_at: until }))
          .execute();
      }),

    /** Resolves with whether the location was captured. */
    remove: (locationId: string): Promise<boolean> =>
      queried(async () => {
        const removed = await db
          .deleteFrom('captures')
          .where('location_id', '=', locationId)
          .returning('until_at')
          .executeTakeFirst();
        return removed !== undefined && removed.until_at > clock.now();
      }),

    /** Resolves with the captures that have not ended. */
    list: (): Promise<Capture[]> =>
      queried(async () => {
        const rows = await db
          .selectFrom('captures')
          .selectAll()
          .where('until_at', '>', clock.now())
          .execute();
        return rows.map((row) => ({ locationId: row.location_id, until: row.until_at }));
      }),
  };
}

export type Captures = ReturnType<typeof captures>;
