import type { Log } from '@footbridge/runtime/log';

import type { LockEvent, OnDatabaseEvent } from './open-database.ts';

/** Logs what happens to the main database. */
export const logDatabase =
  (log: Log): OnDatabaseEvent =>
  (happened) => {
    if (happened.type === 'checkpoint_failed')
      log.warn({ event: 'sql.checkpoint_failed', err: happened.error }, 'WAL checkpoint failed');
    else if (happened.type === 'connection_lost')
      log.warn({ event: 'sql.connection_lost', err: happened.error }, 'database connection lost');
    else logLock(log, 'main', happened);
  };

/** Logs what happens to a separate database for the tokens. */
export const logTokenDatabase =
  (log: Log): OnDatabaseEvent =>
  (happened) => {
    if (happened.type === 'checkpoint_failed')
      log.warn(
        { event: 'token.checkpoint_failed', err: happened.error },
        'WAL checkpoint of the token database failed',
      );
    else if (happened.type === 'connection_lost')
      log.warn(
        { event: 'token.database_connection_lost', err: happened.error },
        'token database connection lost',
      );
    else logLock(log, 'tokens', happened);
  };

function logLock(log: Log, database: 'main' | 'tokens', { type, waitedMs }: LockEvent): void {
  if (type === 'locked')
    log.warn({ event: 'sql.locked', database, waitedMs }, 'database locked by another process, writes wait');
  else log.info({ event: 'sql.lock_ended', database, waitedMs }, 'writes continue after a lock');
}
