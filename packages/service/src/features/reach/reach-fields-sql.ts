import type { Host } from '../../platform/host.ts';
import { guarded } from '../../platform/sql/queries.ts';
import type { KeyedHash } from '../../relay/people/handles.ts';

declare module '../../platform/sql/schema.ts' {
  interface Schema {
    /** The values that the service has written into a custom field of contacts. */
    reach_fields: {
      location_id: string;
      /** A keyed hash of the phone number or email address. */
      handle_hash: string;
      field_id: string;
      reach: 'iMessage' | 'SMS' | 'unknown';
      written_at: number;
    };
  }
}

/** How a person is reached, as shown in a contact of the CRM. */
export interface ReachField {
  /** The custom field that holds the value. */
  readonly fieldId: string;
  readonly reach: 'iMessage' | 'SMS' | 'unknown';
}

interface ReachFieldView extends ReachField {
  readonly locationId: string;
  readonly since: number;
}

export interface ReachFieldsDeps extends Pick<Host, 'db' | 'clock'> {
  readonly hashes: Pick<KeyedHash, 'handle'>;
}

const queried = guarded('the recorded reach of contacts is unavailable');

/** The values that the service has written into a custom field of contacts, so that each is written once. People are stored as keyed hashes. */
export function reachFields({ db, clock, hashes }: ReachFieldsDeps) {
  const rowsOf = (handle: string, locationIds: readonly string[] | undefined) => {
    const query = db
      .selectFrom('reach_fields')
      .selectAll()
      .where('handle_hash', 'in', [...hashes.handle(handle)])
      .orderBy('location_id')
      .orderBy('written_at', 'desc');
    return (locationIds === undefined ? query : query.where('location_id', 'in', [...locationIds])).execute();
  };

  return {
    /** Resolves with the value that was set last, even if it was stored with a former key. */
    get: (locationId: string, handle: string): Promise<ReachField | undefined> =>
      queried(async () => {
        const [row] = await rowsOf(handle, [locationId]);
        return row && { fieldId: row.field_id, reach: row.reach };
      }),

    set: (locationId: string, handle: string, { fieldId, reach }: ReachField): Promise<void> =>
      queried(async () => {
        const [newest = '', ...former] = hashes.handle(handle);
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

    /** Lists the values of one person in the given locations or, if undefined, in all, ordered by location. */
    list: (handle: string, locationIds?: readonly string[]): Promise<ReachFieldView[]> =>
      queried(async () => {
        if (locationIds?.length === 0) return [];
        return (await rowsOf(handle, locationIds)).map((row) => ({
          locationId: row.location_id,
          fieldId: row.field_id,
          reach: row.reach,
          since: row.written_at,
        }));
      }),

    erase: (handle: string, locationIds?: readonly string[]): Promise<void> =>
      queried(async () => {
        if (locationIds?.length === 0) return;
        const query = db.deleteFrom('reach_fields').where('handle_hash', 'in', [...hashes.handle(handle)]);
        await (
          locationIds === undefined ? query : query.where('location_id', 'in', [...locationIds])
        ).execute();
      }),
  };
}

export type ReachFields = ReturnType<typeof reachFields>;
