import type { MigrationSummary } from '@footbridge/protocol/maintenance';
import type { Config } from '@footbridge/service/config';
import { databasesOf } from '@footbridge/service/config';
import { compareMigrations } from '@footbridge/service/platform/sql/migrate';
import type { DatabaseConfig } from '@footbridge/service/platform/sql/settings';
import { openDatabase } from '@footbridge/service/platform/sql/open-database';

import { MaintenanceError, databaseNewer } from './maintenance-error.ts';
import { openSnapshot } from './open-snapshot.ts';

/** Resolves with the migrations that the next start would apply. Changes nothing. */
export async function checkMigrations(config: Config): Promise<MigrationSummary[]> {
  const summaries: MigrationSummary[] = [];
  for (const [database, choice] of databasesOf(config)) {
    const applied = await appliedIn(choice);
    const { pending, unknown } = compareMigrations(applied);
    const [newer] = unknown;
    if (newer !== undefined)
      throw databaseNewer(newer, 'start that version, or restore a backup that this version can read');
    summaries.push({ database, applied: applied.length, pending });
  }
  return summaries;
}

/** Applies the pending migrations, as the next start would. Resolves with those that were pending. */
export async function applyMigrations(config: Config): Promise<MigrationSummary[]> {
  const summaries = await checkMigrations(config);
  for (const choice of databasesOf(config).values()) {
    const database = await openDatabase(choice, () => {});
    await database.close();
  }
  return summaries;
}

async function appliedIn(choice: DatabaseConfig): Promise<readonly string[]> {
  try {
    const snapshot = await openSnapshot(choice);
    await snapshot.close();
    return snapshot.migrations;
  } catch (error) {
    // The first start creates the file.
    if (error instanceof MaintenanceError && error.code === 'FILE_NOT_FOUND') return [];
    throw error;
  }
}
