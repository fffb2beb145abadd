import type { Clock } from '@footbridge/runtime/clock';
import { sql } from 'kysely';

import { EngineError } from '../../platform/errors.ts';
import type { Database } from '../../platform/sql/open-database.ts';
import type { Suppressions, SuppressionSource } from './suppressions.ts';

export interface SqlSuppressionsDeps {
  readonly db: Database;
  readonly clock: Clock;
  /** Hashes of a phone number or an address: by the newest key first, then by older ones. */
  readonly hashes: (handle: string) => readonly string[];
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

export function createSqlSuppressions({ db, clock, hashes }: SqlSuppressionsDeps): Suppressions {
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
    .where('handle_hash', 'in', [...hashes('')])
    .where('active', '=', 1)
    .limit(1)
    .compile();
  const isActive = async (locationId: string, handle: string): Promise<boolean> => {
    const parameters = [locationId, ...hashes(handle), 1, 1];
    return (await db.executeQuery({ ...lookUp, parameters })).rows.length > 0;
  };

  return {
    set: (...changes) =>
      guarded(() =>
        write(
          changes.flatMap(({ locationId, handle, isSuppressed, source, at = clock.now() }) =>
            // Under a former key too: a suppression that was recorded under it must not outlive this decision.
            hashes(handle).map((hash) => ({ locationId, hash, isSuppressed, source, at })),
          ),
        ),
      ),
    has: (locationId, handle) => guarded(() => isActive(locationId, handle)),
    list: ({ locationIds, handle, after, limit }) =>
      guarded(async () => {
        if (locationIds?.length === 0) return [];
        let query = db
          .selectFrom('suppressions')
          .selectAll()
          .where('active', '=', 1)
          .orderBy('location_id')
          .orderBy('handle_hash')
          .limit(limit);
        if (locationIds !== undefined) query = query.where('location_id', 'in', [...locationIds]);
        if (handle !== undefined) query = query.where('handle_hash', 'in', [...hashes(handle)]);
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
    restore: (entries) =>
      guarded(() => write(entries.map(({ since: at, ...entry }) => ({ ...entry, isSuppressed: true, at })))),
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

async function guarded<T>(task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    throw new EngineError('sql', 'the list of suppressed numbers is unavailable', error);
  }
}
