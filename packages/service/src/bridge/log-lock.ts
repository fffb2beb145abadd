import type { Log } from '@footbridge/runtime/log';

import type { LockEvent } from '../platform/sql/open-database.ts';

/** `database` tells the main database and a separate one for the tokens apart. */
export function logLock(log: Log, database: 'main' | 'tokens', { type, waitedMs }: LockEvent): void {
  if (type === 'locked')
    log.warn({ event: 'sql.locked', database, waitedMs }, 'database locked by another process, writes wait');
  else log.info({ event: 'sql.lock_ended', database, waitedMs }, 'writes continue after a lock');
}
