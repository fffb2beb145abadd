import { existsSync } from 'node:fs';
import { link, open, rename, rm, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';

import type { BackupSummary } from '@footbridge/protocol/maintenance';
import type { Failpoint } from '@footbridge/runtime/failpoints';
import type { Config } from '@footbridge/service/config';
import { databasesOf } from '@footbridge/service/config';
import { compareMigrations } from '@footbridge/service/platform/sql/migrate';
import { tablesAt } from '@footbridge/service/platform/sql/tables-at';

import { writeEnd, writeManifest, writeRows } from './backup-records.ts';
import type { DatabaseName, Manifest } from './backup-records.ts';
import { MaintenanceError, databaseNewer, writeError } from './maintenance-error.ts';
import { openSnapshot } from './open-snapshot.ts';
import { createSealed } from './sealed-file.ts';
import type { KeyOf, SealedWriter } from './sealed-file.ts';
import { readSecretFiles } from './secret-files.ts';
import type { Snapshot } from './snapshot.ts';
import { syncFolder } from './sync-folder.ts';

export interface BackupDeps {
  readonly config: Config;
  readonly version: string;
  readonly keyOf: KeyOf;
  readonly onRows: (rows: number) => void;
  readonly failpoint: Failpoint | undefined;
  readonly signal: AbortSignal;
}

/** Writes a backup. The file appears under its name only when it is complete. */
export async function backup(deps: BackupDeps, file: string, force: boolean): Promise<BackupSummary> {
  await checkTarget(file, force);
  const partial = `${file}.${process.pid}.partial`;
  const snapshots = new Map<DatabaseName, Snapshot>();
  let output: FileHandle | undefined;
  try {
    for (const [name, database] of databasesOf(deps.config))
      snapshots.set(name, await openSnapshot(database));
    output = await open(partial, 'wx', 0o600);
    const head = { version: deps.version, createdAt: new Date().toISOString() };
    const sealed = await createSealed(output, deps.keyOf, head);
    const rows = await writeAll(deps, sealed, snapshots);
    await output.sync();
    await deps.failpoint?.('backup.beforeRename');
    await publish(partial, file, force);
    return { file, ...head, rows, ...sealed.summary() };
  } catch (error) {
    throw writeError(error, file);
  } finally {
    await output?.close();
    await rm(partial, { force: true });
    for (const snapshot of snapshots.values()) await snapshot.close();
  }
}

/** Throws when something exists under the name and must not be replaced. */
async function checkTarget(file: string, force: boolean): Promise<void> {
  // A path that cannot be examined fails later, when the file is created.
  const existing = await stat(file).catch(() => undefined);
  if (existing === undefined) return;
  // The final rename would replace a device or a pipe with the backup.
  if (!existing.isFile())
    throw new MaintenanceError(
      'FILE_NOT_WRITABLE',
      `${file} is not a regular file; nothing was replaced`,
      'pass the path of a new file',
    );
  if (!force) throw exists(file);
}

async function writeAll(
  { config, onRows, failpoint, signal }: BackupDeps,
  sealed: SealedWriter,
  snapshots: ReadonlyMap<DatabaseName, Snapshot>,
): Promise<number> {
  const manifest = await manifestOf(config, snapshots);
  await writeManifest(sealed, manifest);
  let total = 0;
  for (const { name, tables } of manifest.databases)
    for (const table of tables)
      for await (const { rows, text } of snapshots.get(name)?.rows(table) ?? []) {
        signal.throwIfAborted();
        await writeRows(sealed, { database: name, table: table.name, rows, text });
        await failpoint?.('backup.afterRows');
        total += rows;
        onRows(total);
      }
  await writeEnd(sealed, total);
  return total;
}

async function manifestOf(config: Config, snapshots: ReadonlyMap<DatabaseName, Snapshot>): Promise<Manifest> {
  const engines = databasesOf(config);
  const databases: Manifest['databases'][number][] = [];
  for (const [name, { migrations }] of snapshots) {
    const [newer] = compareMigrations(migrations).unknown;
    if (newer !== undefined)
      throw databaseNewer(newer, 'run this command with the same version as the service');
    const migration = migrations.at(-1);
    if (migration === undefined)
      throw new MaintenanceError(
        'DATABASE_UNUSABLE',
        'the database has no Footbridge tables',
        'run this with the settings of the service (DATA_DIR, DATABASE_URL)',
      );
    const engine = engines.get(name)?.engine ?? 'sqlite';
    databases.push({ name, engine, migration, tables: await tablesAt(migration) });
  }
  return { databases, files: readSecretFiles(config.dataDir) };
}

/** Gives the complete file its final name. Without `force`, an existing file is never replaced, not even one created in the meantime. */
async function publish(partial: string, file: string, force: boolean): Promise<void> {
  if (force) await rename(partial, file);
  else
    try {
      await link(partial, file);
    } catch (error) {
      if (existsSync(file)) throw exists(file, error);
      // A file system without hard links.
      await rename(partial, file);
    }
  await syncFolder(file);
}

const exists = (file: string, cause?: unknown) =>
  new MaintenanceError(
    'FILE_EXISTS',
    `${file} already exists`,
    'use another name, or pass --force to replace it',
    cause,
  );
