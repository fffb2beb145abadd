import { reason } from '@footbridge/service/platform/sql/open-database';
import pg from 'pg';

import { MaintenanceError } from './maintenance-error.ts';

const CONNECT_TIMEOUT_MS = 10_000;

/** Opens one connection without a statement timeout: copying a large table takes minutes. */
export async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: 0,
    keepAlive: true,
  });
  // Without a listener, a broken connection would end the process. The statement in progress fails in any case.
  client.on('error', () => {});
  try {
    await client.connect();
    return client;
  } catch (error) {
    throw new MaintenanceError(
      'DATABASE_UNUSABLE',
      `PostgreSQL cannot be used: ${reason(error)}`,
      'check DATABASE_URL and that PostgreSQL is running',
      error,
    );
  }
}
