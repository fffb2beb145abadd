import type { DatabaseConfig } from '@footbridge/service/platform/sql/settings';

import { openPostgresSnapshot } from './snapshot-postgres.ts';
import { openSqliteSnapshot } from './snapshot-sqlite.ts';
import type { Snapshot } from './snapshot.ts';

export const openSnapshot = (database: DatabaseConfig): Promise<Snapshot> =>
  database.engine === 'sqlite' ? openSqliteSnapshot(database.file) : openPostgresSnapshot(database.url);
