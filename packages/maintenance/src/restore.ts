import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';

import type { BackupSummary } from '@footbridge/protocol/maintenance';
import { clearRestoreMarker, setRestoreMarker } from '@footbridge/service/platform/restore-marker';
import type { DatabaseConfig } from '@footbridge/service/platform/sql/settings';
import { databasesOf } from '@footbridge/service/config';
import { MIGRATIONS } from '@footbridge/service/platform/sql/migrations';
import { giveToFolderOwner } from '@footbridge/service/platform/sql/private-file';
import { tablesAt } from '@footbridge/service/platform/sql/tables-at';

import type { BackupDeps } from './backup.ts';
import { readBackup } from './backup-records.ts';
import type { DatabaseName, Manifest } from './backup-records.ts';
import { MaintenanceError, writeError } from './maintenance-error.ts';
import { openPostgresTarget } from './restore-postgres.ts';
import { openSqliteTarget } from './restore-sqlite.ts';
import type { RestoreTarget, TargetShape } from './restore-target.ts';
import { damaged, openSealed } from './sealed-file.ts';
import type { SealedReader } from './sealed-file.ts';
import { SECRET_FILES } from './secret-files.ts';
import { syncFolder } from './sync-folder.ts';

export interface Restored {
  readonly backup: BackupSummary;
  /** The paths of the previous databases that were kept. */
  readonly former: readonly string[];
}

/** Reads the whole backup. Throws when it is damaged, newer than this program, or encrypted with another key. */
export async function checkBackup(deps: BackupDeps, file: string): Promise<BackupSummary> {
  const input = await openFile(file);
  try {
    return (await verify(deps, await openSealed(input, deps.keyOf), file)).summary;
  } finally {
    await input.close();
  }
}

/** Verifies a backup, loads it next to the current data, then replaces that data. A failure before the last step changes nothing. */
export async function restore(deps: BackupDeps, file: string): Promise<Restored> {
  const input = await openFile(file);
  const targets = new Map<DatabaseName, RestoreTarget>();
  const { dataDir } = deps.config;
  try {
    const sealed = await openSealed(input, deps.keyOf);
    const { summary, manifest } = await verify(deps, sealed, file);
    const databases = matching(databasesOf(deps.config), manifest);
    for (const { name, database, shape } of databases) targets.set(name, await openTarget(database, shape));
    await load(deps, sealed, targets);
    for (const target of targets.values()) await target.finish();
    await writeSecretFiles(dataDir, manifest.files);
    await deps.failpoint?.('restore.beforeReplace');
    deps.signal.throwIfAborted();
    return { backup: summary, former: await replace(deps, targets, manifest.files) };
  } catch (error) {
    throw writeError(error, dataDir);
  } finally {
    await input.close();
    for (const target of targets.values()) await target.close();
    for (const name of SECRET_FILES) await rm(loadingName(dataDir, name), { force: true });
  }
}

async function openFile(file: string): Promise<FileHandle> {
  try {
    // Opening a pipe would wait for a writer.
    if ((await stat(file)).isFile()) return await open(file, 'r');
  } catch (error) {
    throw new MaintenanceError(
      'FILE_NOT_FOUND',
      `the backup ${file} cannot be read`,
      'check the path, and that this user may read the file',
      error,
    );
  }
  throw new MaintenanceError(
    'BACKUP_DAMAGED',
    `${file} is not a regular file, so it is not a Footbridge backup; nothing was changed`,
    'pass a file made by footbridge backup',
  );
}

async function verify(
  { onRows, signal }: BackupDeps,
  sealed: SealedReader,
  file: string,
): Promise<{ summary: BackupSummary; manifest: Manifest }> {
  const content = await readBackup(sealed);
  const { manifest } = content;
  const newer = manifest.databases.find(({ migration }) => !Object.hasOwn(MIGRATIONS, migration));
  if (newer !== undefined)
    throw new MaintenanceError(
      'BACKUP_NEWER',
      `the backup was made by a newer version of Footbridge (${sealed.version}); nothing was changed`,
      `install version ${sealed.version} or a newer one`,
    );
  await checkNames(manifest);
  const pieces = content.rows();
  let total = 0;
  for (let piece = await pieces.next(); piece.done !== true; piece = await pieces.next()) {
    signal.throwIfAborted();
    total += piece.value.rows;
    onRows(total);
  }
  const { version, createdAt } = sealed;
  return { summary: { file, version, createdAt, rows: total, ...sealed.summary() }, manifest };
}

/** Names become paths and SQL. Throws BACKUP_DAMAGED unless `backup` writes each of them. */
async function checkNames({ databases, files }: Manifest): Promise<void> {
  const names = databases.map(({ name }) => name);
  if (new Set(names).size < names.length) throw damaged();
  for (const name of Object.keys(files)) if (!SECRET_FILES.includes(name)) throw damaged();
  for (const { migration, tables } of databases) {
    const known = new Map((await tablesAt(migration)).map(({ name, columns }) => [name, columns]));
    for (const { name, columns } of tables)
      if (!columns.every((column) => known.get(name)?.includes(column))) throw damaged();
  }
}

interface Match {
  readonly name: DatabaseName;
  readonly database: DatabaseConfig;
  readonly shape: TargetShape;
}

/** Throws when only the backup or only the settings have a separate token database: merging or splitting could lose tokens. */
function matching(settings: ReadonlyMap<DatabaseName, DatabaseConfig>, { databases }: Manifest): Match[] {
  const matches = databases.flatMap((shape) => {
    const database = settings.get(shape.name);
    return database === undefined ? [] : [{ name: shape.name, database, shape }];
  });
  if (matches.length === settings.size && matches.length === databases.length) return matches;
  throw new MaintenanceError(
    'SETTINGS_INVALID',
    databases.length > settings.size
      ? 'the backup has the tokens in a separate database, but the settings name only one; nothing was changed'
      : 'the settings have a separate database for the tokens, but the backup has only one; nothing was changed',
    'set CRM_OAUTH_DATABASE_URL as it was when the backup was made',
  );
}

const openTarget = async (database: DatabaseConfig, shape: TargetShape): Promise<RestoreTarget> =>
  database.engine === 'sqlite'
    ? await openSqliteTarget(database.file, shape)
    : await openPostgresTarget(
        database.url,
        shape,
        (await tablesAt(Object.keys(MIGRATIONS).at(-1) ?? '')).map(({ name }) => name),
      );

async function load(
  { onRows, failpoint, signal }: BackupDeps,
  sealed: SealedReader,
  targets: ReadonlyMap<DatabaseName, RestoreTarget>,
): Promise<void> {
  const pieces = (await readBackup(sealed)).rows();
  let total = 0;
  for (let piece = await pieces.next(); piece.done !== true; piece = await pieces.next()) {
    signal.throwIfAborted();
    await targets.get(piece.value.database)?.load(piece.value);
    await failpoint?.('restore.afterRows');
    total += piece.value.rows;
    onRows(total);
  }
}

const loadingName = (dataDir: string, name: string) => join(dataDir, `${name}.restoring`);

async function writeSecretFiles(dataDir: string, files: Manifest['files']): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  for (const [name, content] of Object.entries(files)) {
    await rm(loadingName(dataDir, name), { force: true });
    const path = loadingName(dataDir, name);
    const file = await open(path, 'wx', 0o600);
    try {
      giveToFolderOwner(file.fd, path);
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
  }
}

/** The databases and the files are replaced one after the other; until all are, the service refuses to start. */
async function replace(
  { config: { dataDir }, failpoint }: BackupDeps,
  targets: ReadonlyMap<DatabaseName, RestoreTarget>,
  files: Manifest['files'],
): Promise<string[]> {
  setRestoreMarker(dataDir);
  const former: (string | undefined)[] = [];
  for (const target of targets.values()) {
    try {
      former.push(await target.replace());
    } catch (error) {
      if (former.length === 0) clearRestoreMarker(dataDir);
      throw error;
    }
    await failpoint?.('restore.afterReplace');
  }
  for (const name of Object.keys(files)) await rename(loadingName(dataDir, name), join(dataDir, name));
  await syncFolder(loadingName(dataDir, ''));
  clearRestoreMarker(dataDir);
  return former.filter((path) => path !== undefined);
}
