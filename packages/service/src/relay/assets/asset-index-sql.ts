import type { Clock } from '@footbridge/runtime/clock';
import type { Selectable } from 'kysely';

import type { OpenDatabase } from '../../platform/sql/open-database.ts';
import type { Schema } from '../../platform/sql/schema.ts';
import { recountTotals } from './asset-totals-sql.ts';

/** The metadata of a stored file. */
export interface AssetRecord {
  readonly id: string;
  readonly locationId: string;
  /** The license of the Mac that sent the file; null for a file of an earlier version. */
  readonly licenseId: string | null;
  readonly name: string;
  readonly contentType: string;
  readonly size: number;
  /** Hex. */
  readonly sha256: string;
  /** For a converted file: the id of the original, which is stored too. */
  readonly originalId: string | null;
  /** What the conversion lost, or why the file was not converted. */
  readonly note: string | null;
  readonly createdAt: number;
  readonly expiresAt: number;
}

export interface AssetTotals {
  readonly count: number;
  readonly bytes: number;
}

export interface AssetIndexDeps {
  readonly database: Pick<OpenDatabase, 'db' | 'engine'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Hashes of a phone number or an address: by the newest key first, then by older ones. */
  readonly hashes: (handle: string) => readonly string[];
}

/**
 * The names, owners and expiry of stored files. The bytes are in the asset store: a record is added after its bytes are stored and
 * removed after they are deleted. Errors of the database are thrown unchanged.
 */
export function createAssetIndex({ database, clock, hashes }: AssetIndexDeps) {
  const { db, engine } = database;
  return {
    /** Corrects the totals after nodes of an earlier version added or removed files without updating them. */
    async recount(): Promise<void> {
      // A SQLite database has one node, so no other version writes to it.
      if (engine === 'postgres') await recountTotals(db);
    },

    async add(record: AssetRecord): Promise<void> {
      await db.transaction().execute(async (tx) => {
        await tx
          .insertInto('assets')
          .values({ ...toRow(record), sender_hash: null })
          .execute();
        await tx
          .insertInto('asset_totals')
          .values({ location_id: record.locationId, files: 1, bytes: record.size })
          .onConflict((conflict) =>
            conflict.column('location_id').doUpdateSet((total) => ({
              files: total('asset_totals.files', '+', 1),
              bytes: total('asset_totals.bytes', '+', record.size),
            })),
          )
          .execute();
        if (record.licenseId === null) return;
        await tx
          .insertInto('license_asset_totals')
          .values({ license_id: record.licenseId, files: 1, bytes: record.size })
          .onConflict((conflict) =>
            conflict.column('license_id').doUpdateSet((total) => ({
              files: total('license_asset_totals.files', '+', 1),
              bytes: total('license_asset_totals.bytes', '+', record.size),
            })),
          )
          .execute();
      });
    },

    /** Resolves with undefined when the record does not exist or has expired. */
    async find(id: string): Promise<AssetRecord | undefined> {
      const row = await db
        .selectFrom('assets')
        .selectAll()
        .where('id', '=', id)
        .where('expires_at', '>', clock.now())
        .executeTakeFirst();
      return row && toRecord(row);
    },

    /** Resolves with expired records, oldest first. */
    async expired(limit: number): Promise<AssetRecord[]> {
      const rows = await db
        .selectFrom('assets')
        .selectAll()
        .where('expires_at', '<=', clock.now())
        .orderBy('expires_at')
        .limit(limit)
        .execute();
      return rows.map(toRecord);
    },

    async remove(id: string): Promise<void> {
      await db.transaction().execute(async (tx) => {
        const removed = await tx
          .deleteFrom('assets')
          .where('id', '=', id)
          .returning(['location_id', 'license_id', 'size'])
          .executeTakeFirst();
        if (removed === undefined) return;
        await tx
          .updateTable('asset_totals')
          .set((total) => ({ files: total('files', '-', 1), bytes: total('bytes', '-', removed.size) }))
          .where('location_id', '=', removed.location_id)
          .execute();
        if (removed.license_id === null) return;
        await tx
          .updateTable('license_asset_totals')
          .set((total) => ({ files: total('files', '-', 1), bytes: total('bytes', '-', removed.size) }))
          .where('license_id', '=', removed.license_id)
          .execute();
      });
    },

    /** Records who sent a file, and its original. The phone number or email address is stored as a keyed hash. */
    async setSender(id: string, handle: string): Promise<void> {
      const [hash = null] = hashes(handle);
      await db
        .updateTable('assets')
        .set({ sender_hash: hash })
        .where((asset) =>
          asset.or([
            asset('id', '=', id),
            asset('id', '=', asset.selectFrom('assets').select('original_id').where('id', '=', id)),
          ]),
        )
        .execute();
    },

    /** Resolves with the files that a person sent, expired ones included, oldest first. `locationIds` undefined: all locations. */
    async ofSender(handle: string, locationIds?: readonly string[]): Promise<AssetRecord[]> {
      if (locationIds?.length === 0) return [];
      let query = db
        .selectFrom('assets')
        .selectAll()
        .where('sender_hash', 'in', [...hashes(handle)])
        .orderBy('created_at');
      if (locationIds !== undefined) query = query.where('location_id', 'in', [...locationIds]);
      return (await query.execute()).map(toRecord);
    },

    /** Changes how long the files of a location are kept, from when each was stored. */
    async keepFor(locationId: string, ms: number): Promise<void> {
      await db
        .updateTable('assets')
        .set((asset) => ({ expires_at: asset('created_at', '+', ms) }))
        .where('location_id', '=', locationId)
        .execute();
    },

    /** Sums up the files of one location, of one license, or all files. */
    async totals(
      of?: { readonly locationId: string } | { readonly licenseId: string },
    ): Promise<AssetTotals> {
      if (of !== undefined && 'licenseId' in of) {
        const total = await db
          .selectFrom('license_asset_totals')
          .select(['files', 'bytes'])
          .where('license_id', '=', of.licenseId)
          .executeTakeFirst();
        return { count: total?.files ?? 0, bytes: total?.bytes ?? 0 };
      }
      // PostgreSQL returns the sum of 64-bit integers as a string.
      const all = db
        .selectFrom('asset_totals')
        .select(({ fn }) => [
          fn.sum<number | string | null>('files').as('files'),
          fn.sum<number | string | null>('bytes').as('bytes'),
        ]);
      const { files, bytes } = await (
        of === undefined ? all : all.where('location_id', '=', of.locationId)
      ).executeTakeFirstOrThrow();
      return { count: Number(files ?? 0), bytes: Number(bytes ?? 0) };
    },
  };
}

const toRow = (record: AssetRecord): Omit<Schema['assets'], 'sender_hash'> => ({
  id: record.id,
  location_id: record.locationId,
  license_id: record.licenseId,
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
  licenseId: row.license_id,
  name: row.name,
  contentType: row.content_type,
  size: row.size,
  sha256: row.sha256,
  originalId: row.original_id,
  note: row.note,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
});

export type AssetIndex = ReturnType<typeof createAssetIndex>;
