import type { Log } from '@footbridge/runtime/log';

import type { OnDatabaseEvent } from './open-database.ts';

/** `tokens`: a separate database for the tokens of the CRM. */
const WORDS = {
  main: {
    checkpoint: { event: 'sql.checkpoint_failed', message: 'WAL checkpoint failed' },
    connection: { event: 'sql.connection_lost', message: 'database connection lost' },
  },
  tokens: {
    checkpoint: { event: 'token.checkpoint_failed', message: 'WAL checkpoint of the token database failed' },
    connection: { event: 'token.database_connection_lost', message: 'token database connection lost' },
  },
} as const;

/** Logs what happens to a database. */
export const logDatabase =
  (log: Log, database: keyof typeof WORDS): OnDatabaseEvent =>
  (happened) => {
    const { checkpoint, connection } = WORDS[database];
    if (happened.type === 'checkpoint_failed')
      log.warn({ event: checkpoint.event, err: happened.error }, checkpoint.message);
    else if (happened.type === 'connection_lost')
      log.warn({ event: connection.event, err: happened.error }, connection.message);
    else if (happened.type === 'locked')
      log.warn(
        { event: 'sql.locked', database, waitedMs: happened.waitedMs },
        'database locked by another process, writes wait',
      );
    else
      log.info(
        { event: 'sql.lock_ended', database, waitedMs: happened.waitedMs },
        'writes continue after a lock',
      );
  };
