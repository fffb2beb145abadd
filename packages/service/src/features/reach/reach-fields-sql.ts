import type { Clock } from '@footbridge/runtime/clock';

import { EngineError } from '../../platform/errors.ts';
import type { Database } from '../../platform/sql/open-database.ts';
import type { ReachFields } from './reach-fields.ts';

export interface SqlReachFieldsDeps {
  readonly db: Database;
  readonly clock: Pick<Clock, 'now'>;
  /** Hashes of a phone number or an address: by the newest key first, then by older ones. */
  readonly hashes: (handle: string) => readonly string[];
}

export function createSqlReachFields({ db, clock, hashes }: SqlReachFieldsDeps): ReachFields {
  const rowsOf = (handle: string, locationIds: readonly string[] | undefined) => {
    const query = db
      .selectFrom('reach_fields')
      .selectAll()
      .where('handle_hash', 'in', [...hashes(handle)])
      .orderBy('location_id')
      .orderBy('written_at', 'desc');
    return (locationIds === undefined ? query : query.where('location_id', 'in', [...locationIds])).execute();
  };

  return {
    get: (locationId, handle) =>
      guarded(async () => {
        const [row] = await rowsOf(handle, [locationId]);
        return row && { fieldId: row.field_id, reach: row.reach };
      }),
    set: (locationId, handle, { fieldId, reach }) =>
      guarded(async () => {
        const [newest = '', ...former] = hashes(handle);
        const value = { field_id: fieldId, reach, written_at: clock.now() };
        await db
          .insertInto('reach_fields')
          .values({ location_id: locationId, handle_hash: newest, ...value })
          .onConflict((conflict) => conflict.columns(['location_id', 'handle_hash']).doUpdateSet(value))
          .execute();
        if (former.length > 0)
          await db
            .deleteFrom('reach_fields')
            .where('location_id', '=', locationId)
            .where('handle_hash', 'in', former)
            .execute();
      }),
    list: (handle, locationIds) =>
      guarded(async () => {
        if (locationIds?.length === 0) return [];
        return (await rowsOf(handle, locationIds)).map((row) => ({
          locationId: row.location_id,
          fieldId: row.field_id,
          reach: row.reach,
          since: row.written_at,
        }));
      }),
    erase: (handle, locationIds) =>
      guarded(async () => {
        if (locationIds?.length === 0) return;
        const query = db.deleteFrom('reach_fields').where('handle_hash', 'in', [...hashes(handle)]);
        await (
          locationIds === undefined ? query : query.where('location_id', 'in', [...locationIds])
        ).execute();
      }),
  };
}

async function guarded<T>(task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    throw new EngineError('sql', 'the recorded reach of contacts is unavailable', error);
  }
}
