import type { Clock } from '@footbridge/runtime/clock';

import { EngineError } from '../../platform/errors.ts';
import type { Database } from '../../platform/sql/open-database.ts';
import type { SeenRequests } from './seen-requests.ts';

/** About 200 MB with SQLite. */
const MAX_HASHES = 1_000_000;

export function createSqlSeenRequests(
  { db, clock }: { readonly db: Database; readonly clock: Pick<Clock, 'now'> },
  maxHashes: number = MAX_HASHES,
): SeenRequests {
  return {
    has: (hash) =>
      withEngineError(async () => {
        const row = await db
          .selectFrom('seen_requests')
          .select('hash')
          .where('hash', '=', hash)
          .where('expires_at', '>', clock.now())
          .executeTakeFirst();
        return row !== undefined;
      }),

    add: (hash, expiresAt) =>
      withEngineError(async () => {
        await db
          .insertInto('seen_requests')
          .values({ hash, expires_at: expiresAt })
          .onConflict((conflict) => conflict.column('hash').doUpdateSet({ expires_at: expiresAt }))
          .execute();
      }),

    prune: () =>
      withEngineError(async () => {
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

async function withEngineError<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (error) {
    throw new EngineError('sql', 'the record of signed requests cannot be read or changed', error);
  }
}
