import { sql } from 'kysely';

import type { Database } from '../../platform/sql/open-database.ts';

/**
 * Recomputes the totals of all locations and licenses on PostgreSQL. During a rolling upgrade, nodes of a version without totals add and
 * remove files without updating them. The lock makes uploads wait, so that each file is counted once.
 */
export async function recountTotals(db: Database): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await sql`LOCK TABLE asset_totals, license_asset_totals IN SHARE ROW EXCLUSIVE MODE`.execute(tx);
    await tx.deleteFrom('asset_totals').execute();
    await sql`INSERT INTO asset_totals (location_id, files, bytes)
      SELECT location_id, count(*), sum(size) FROM assets GROUP BY location_id`.execute(tx);
    await tx.deleteFrom('license_asset_totals').execute();
    await sql`INSERT INTO license_asset_totals (license_id, files, bytes)
      SELECT license_id, count(*), sum(size) FROM assets WHERE license_id IS NOT NULL GROUP BY license_id`.execute(
      tx,
    );
  });
}
