import type { Clock } from '@footbridge/runtime/clock';
import type { Selectable } from 'kysely';

import type { Database } from '../../sql/open-database.ts';
import type { Schema } from '../../sql/schema.ts';
import type { AssetIndex, AssetRecord } from './asset-index.ts';

export function createSqlAssetIndex({ db, clock }: { db: Database; clock: Pick<Clock, 'now'> }): AssetIndex {
  return {
    async add(record) {
      await db.insertInto('assets').values(toRow(record)).execute();
    },
    async find(id) {
      const row = await db
        .selectFrom('assets')
        .selectAll()
        .where('id', '=', id)
        .where('expires_at', '>', clock.now())
        .executeTakeFirst();
      return row && toRecord(row);
    },
    async expired(limit) {
      const rows = await db
        .selectFrom('assets')
        .selectAll()
        .where('expires_at', '<=', clock.now())
        .orderBy('expires_at')
        .limit(limit)
        .execute();
      return rows.map(toRecord);
    },
    async remove(id) {
      await db.deleteFrom('assets').where('id', '=', id).execute();
    },
    async totals(locationId) {
      const all = db.selectFrom('assets').select(({ fn }) => [
        fn.countAll<number>().as('count'), // PostgreSQL returns the sum of 64-bit integers as a string.
        fn.sum<number | string | null>('size').as('bytes'),
      ]);
      const { count, bytes } = await (
        locationId === undefined ? all : all.where('location_id', '=', locationId)
      ).executeTakeFirstOrThrow();
      return { count: count, bytes: Number(bytes ?? 0) };
    },
  };
}

const toRow = (record: AssetRecord): Schema['assets'] => ({
  id: record.id,
  location_id: record.locationId,
  name: record.name,
  content_type: record.contentType,
  size: record.size,
  sha256: record.sha256,
  original_id: record.originalId,
  note: record.note,
  created_at: record.createdAt,
  expires_at: record.expiresAt,
});

const toRecord = (row: Selectable<Schema['assets']>): AssetRecord => ({
  id: row.id,
  locationId: row.location_id,
  name: row.name,
  contentType: row.content_type,
  size: row.size,
  sha256: row.sha256,
  originalId: row.original_id,
  note: row.note,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
});
