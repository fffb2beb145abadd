import type { Clock } from '@footbridge/runtime/clock';

import { guarded } from '../../platform/sql/queries.ts';
import type { Database } from '../../platform/sql/open-database.ts';

/** About 200 MB with SQLite. */
const MAX_HASHES = 1_000_000;

const queried = guarded('the record of signed requests cannot be read or changed');

/** Hashes of signed requests that were handled, so that a repeat is recognised on every node and after a restart (T1, T66). */
export function seenRequests(
  { db, clock }: { readonly db: Database; readonly clock: Pick<Clock, 'now'> },
  maxHashes: number = MAX_HASHES,
) {
  return {
    has: (hash: string): Promise<boolean> =>
      queried(async () => {
        const row = await db
          .selectFrom('seen_requests')
          .select('hash')
          .where('hash', '=', hash)
          .where('expires_at', '>', clock.now())
          .executeTakeFirst();
        return row !== undefined;
      }),

    /** Keeps a hash until `expiresAt`. Adding it again extends that. */
    add: (hash: string, expiresAt: number): Promise<void> =>
      queried(async () => {
        await db
          .insertInto('seen_requests')
          .values({ hash, expires_at: expiresAt })
          .onConflict((conflict) => conflict.column('hash').doUpdateSet({ expires_at: expiresAt }))
          .execute();
      }),

    /** Removes expired hashes and, beyond a maximum number, those that expire first. */
    prune: (): Promise<void> =>
      queried(async () => {
        await db.deleteFrom('seen_requests').where('expires_at', '<=', clock.now()).execute();
        const newestExcess = await db
          .selectFrom('seen_requests')
          .select('expires_at')
          .orderBy('expires_at', 'desc')
          .offset(maxHashes)
          .limit(1)
          .executeTakeFirst();
        if (newestExcess !== undefined)
          await db.deleteFrom('seen_requests').where('expires_at', '<=', newestExcess.expires_at).execute();
      }),
  };
}

export type SeenRequests = ReturnType<typeof seenRequests>;
