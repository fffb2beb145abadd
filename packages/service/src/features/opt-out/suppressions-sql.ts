import type { Clock } from '@footbridge/runtime/clock';
import { sql } from 'kysely';

import { guarded } from '../../platform/sql/queries.ts';
import type { Database } from '../../platform/sql/open-database.ts';
import type { KeyedHash } from '../../relay/people/handles.ts';

declare module '../../platform/sql/schema.ts' {
  interface Schema {
    /** Opt-outs. An inactive row is kept, so that an older decision cannot replace it. */
    suppressions: {
      location_id: string;
      /** A keyed hash of the phone number or email address. */
      handle_hash: string;
      active: number;
      source: 'crm' | 'word' | 'operator';
      decided_at: number;
    };
  }
}

/** Why a number is suppressed, or no longer is. */
export type SuppressionSource = 'crm' | 'word' | 'operator';

export interface SuppressionChange {
  readonly locationId: string;
  /** A phone number or an email address. Only its hash is stored. */
  readonly handle: string;
  readonly isSuppressed: boolean;
  readonly source: SuppressionSource;
  /** When it was decided; undefined: now. */
  readonly at?: number | undefined;
}

export interface SuppressionView {
  readonly locationId: string;
  readonly hash: string;
  readonly source: SuppressionSource;
  readonly since: number;
}

export interface SuppressionsDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly hashes: Pick<KeyedHash, 'handle'>;
}

interface SuppressionQuery {
  readonly locationIds?: readonly string[] | undefined;
  readonly handle?: string | undefined;
  readonly after?: { readonly locationId: string; readonly hash: string } | undefined;
  readonly limit: number;
}

interface Decision {
  readonly locationId: string;
  readonly hash: string;
  readonly isSuppressed: boolean;
  readonly source: SuppressionSource;
  readonly at: number;
}

/** Rows per statement: SQLite takes 32,766 variables in one, and a synchronous statement must not block the event loop for long. */
const BATCH = 250;

const queried = guarded('the list of suppressed numbers is unavailable');

/** The numbers of a location that opted out of texts (E4), kept as keyed hashes. */
export function storedSuppressions({ db, clock, hashes }: SuppressionsDeps) {
  async function write(given: readonly Decision[]): Promise<void> {
    const decisions = newestOfEach(given);
    for (let start = 0; start < decisions.length; start += BATCH)
      await db
        .insertInto('suppressions')
        .values(
          decisions.slice(start, start + BATCH).map(({ locationId, hash, isSuppressed, source, at }) => ({
            location_id: locationId,
            handle_hash: hash,
            active: isSuppressed ? 1 : 0,
            source,
            decided_at: at,
          })),
        )
        .onConflict((conflict) =>
          conflict
            .columns(['location_id', 'handle_hash'])
            .doUpdateSet((is) => ({
              active: is.ref('excluded.active'),
              source: is.ref('excluded.source'),
              decided_at: is.ref('excluded.decided_at'),
            }))
            .whereRef('excluded.decided_at', '>=', 'suppressions.decided_at'),
        )
        .execute();
  }

  // Compiled once: every webhook runs this query, and building it costs more than running it.
  const lookUp = db
    .selectFrom('suppressions')
    .select('handle_hash')
    .where('location_id', '=', '')
    .where('handle_hash', 'in', [...hashes.handle('')])
    .where('active', '=', 1)
    .limit(1)
    .compile();
  const isActive = async (locationId: string, handle: string): Promise<boolean> => {
    const parameters = [locationId, ...hashes.handle(handle), 1, 1];
    return (await db.executeQuery({ ...lookUp, parameters })).rows.length > 0;
  };

  return {
    /** Records decisions, each unless a newer one is known: decisions may arrive twice and in any order. */
    set: (...changes: readonly SuppressionChange[]): Promise<void> =>
      queried(() =>
        write(
          changes.flatMap(({ locationId, handle, isSuppressed, source, at = clock.now() }) =>
            // Under a former key too: a suppression that was recorded under it must not outlive this decision.
            hashes.handle(handle).map((hash) => ({ locationId, hash, isSuppressed, source, at })),
          ),
        ),
      ),

    has: (locationId: string, handle: string): Promise<boolean> =>
      queried(() => isActive(locationId, handle)),

    /** Returns a page in order of location and hash, after the given entry. With a handle, only its entries. */
    list: ({ locationIds, handle, after, limit }: SuppressionQuery): Promise<SuppressionView[]> =>
      queried(async () => {
        if (locationIds?.length === 0) return [];
        let query = db
          .selectFrom('suppressions')
          .selectAll()
          .where('active', '=', 1)
          .orderBy('location_id')
          .orderBy('handle_hash')
          .limit(limit);
        if (locationIds !== undefined) query = query.where('location_id', 'in', [...locationIds]);
        if (handle !== undefined) query = query.where('handle_hash', 'in', [...hashes.handle(handle)]);
        if (after !== undefined)
          // A row comparison lets the index seek to the start of the page instead of skipping all rows before it.
          query = query.where(
            sql<boolean>`(location_id, handle_hash) > (${after.locationId}, ${after.hash})`,
          );
        return (await query.execute()).map((row) => ({
          locationId: row.location_id,
          hash: row.handle_hash,
          source: row.source,
          since: row.decided_at,
        }));
      }),

    /** Adds what `list` returned, even from another database with the same key. */
    restore: (entries: readonly SuppressionView[]): Promise<void> =>
      queried(() => write(entries.map(({ since: at, ...entry }) => ({ ...entry, isSuppressed: true, at })))),
  };
}

/** PostgreSQL rejects a statement that updates one row twice. */
function newestOfEach(decisions: readonly Decision[]): Decision[] {
  const newest = new Map<string, Decision>();
  for (const decision of decisions) {
    const key = `${decision.hash} ${decision.locationId}`;
    const known = newest.get(key);
    if (known === undefined || decision.at >= known.at) newest.set(key, decision);
  }
  return [...newest.values()];
}

export type StoredSuppressions = ReturnType<typeof storedSuppressions>;
