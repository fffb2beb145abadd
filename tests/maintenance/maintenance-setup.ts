import { open } from 'node:fs/promises';

import { compileCache } from '@footbridge/runtime/compile-cache.js';
import { loadConfig } from '@footbridge/service/config';
import type { DatabaseConfig } from '@footbridge/service/platform/sql/settings';
import { openDatabase } from '@footbridge/service/platform/sql/open-database';
import type { OpenDatabase } from '@footbridge/service/platform/sql/open-database';
import { tablesAt } from '@footbridge/service/platform/sql/tables-at';

import type { BackupDeps } from '../../packages/maintenance/src/backup.ts';
import { writeEnd, writeManifest } from '../../packages/maintenance/src/backup-records.ts';
import type { Manifest } from '../../packages/maintenance/src/backup-records.ts';
import { MaintenanceError } from '../../packages/maintenance/src/maintenance-error.ts';
import { openSnapshot } from '../../packages/maintenance/src/open-snapshot.ts';
import { createSealed, keyFrom } from '../../packages/maintenance/src/sealed-file.ts';
import { runForLines } from '../cli/run-in-process.ts';
import type { Ended } from '../cli/run-cli.ts';

export const KEY = 'the passphrase of a backup';
const NOW = 1_800_000_000_000;

const keys = new Map<string, Promise<Buffer>>();

/** Derives the key of each file once, which takes half a second of CPU. */
function keyOf(salt: Buffer): Promise<Buffer> {
  const id = salt.toString('hex');
  const key = keys.get(id) ?? keyFrom(KEY)(salt);
  keys.set(id, key);
  return key;
}

/** The dependencies that the CLI passes to backup and restore. */
export function depsOf(env: Record<string, string>): BackupDeps {
  const { config } = loadConfig(env);
  return {
    config,
    version: '0.0.0',
    keyOf,
    onRows: () => {},
    failpoint: undefined,
    signal: new AbortController().signal,
  };
}

/** Runs `footbridge` in this process. The maintenance program is a process that it starts. */
export const runCommand = (args: readonly string[], env: Record<string, string>): Promise<Ended> =>
  runForLines(args, { env: { ...compileCache(), ...env } });

/** Writes a backup whose key is right, and returns its path. */
export async function sealedBackup(file: string, manifest: Manifest): Promise<string> {
  const output = await open(file, 'w');
  const sealed = await createSealed(output, keyOf, { version: '9.0.0', createdAt: '2030-01-01T00:00:00Z' });
  await writeManifest(sealed, manifest);
  await writeEnd(sealed, 0);
  await output.close();
  return file;
}

/** Text that the backup format has to escape. */
export const AWKWARD = ['plain', 'tab\tand\nline\r\\N', '\\N', '', '😀 "quoted" \u2028', 'back\\slash\\t'];

/** Adds rows to several tables; `rows` messages to the journal. */
export async function fill(database: DatabaseConfig, rows = 2000): Promise<void> {
  const opened = await openDatabase(database, () => {});
  const { db } = opened;
  const times = { created_at: NOW, updated_at: NOW };
  for (const [index, label] of AWKWARD.entries()) {
    const id = `license-${index}`;
    const license = {
      id,
      label,
      key_hash: id,
      key_hint: 'hint',
      max_seats: index,
      status: 'active',
    } as const;
    await db
      .insertInto('licenses')
      .values({ ...license, ...times })
      .execute();
    const location = {
      location_id: `loc-${index}`,
      license_id: id,
      state: 'bound',
      device_row: null,
    } as const;
    await db
      .insertInto('locations')
      .values({ ...location, ...times })
      .execute();
  }
  await db
    .insertInto('suppressions')
    .values({ location_id: 'loc-0', handle_hash: 'h', active: 1, source: 'word', decided_at: NOW })
    .execute();
  for (let index = 0; index < 3; index++)
    await db.insertInto('changes').values({ topic: 'keys', subject: 's', at: NOW }).execute();
  const message = {
    direction: 'outbound',
    location_id: 'loc-0',
    kind: 'text',
    status: 'delivered',
    code: null,
    phone_masked: '+1•••0100',
    phone_hash: 'p',
    contact_hash: null,
    length: 12,
    steps: '["accepted",1]\n["sent",2]',
  } as const;
  for (let start = 0; start < rows; start += 500)
    await db
      .insertInto('messages')
      .values(
        Array.from({ length: Math.min(500, rows - start) }, (_, index) => ({
          ...message,
          id: `m-${start + index}`,
          message_id: `crm-${start + index}`,
          created_at: NOW + start + index,
          updated_at: NOW,
        })),
      )
      .execute();
  await opened.close();
}

/** Runs `work` on a database, then closes it. */
export async function inDatabase<T>(
  database: DatabaseConfig,
  work: (db: OpenDatabase['db']) => Promise<T>,
): Promise<T> {
  const opened = await openDatabase(database, () => {});
  try {
    return await work(opened.db);
  } finally {
    await opened.close();
  }
}

/** Returns all rows of all tables, sorted. Reads them as a backup does, which is independent of the engine. */
export async function dump(database: DatabaseConfig): Promise<Record<string, string[]>> {
  const snapshot = await openSnapshot(database);
  try {
    const content: Record<string, string[]> = { migrations: [...snapshot.migrations] };
    for (const table of await tablesAt(snapshot.migrations.at(-1) ?? '')) {
      const lines: string[] = [];
      for await (const { text } of snapshot.rows(table)) lines.push(...text.toString('utf8').split('\n'));
      content[table.name] = lines.filter((line) => line !== '').toSorted();
    }
    return content;
  } finally {
    await snapshot.close();
  }
}

/** Resolves with the code of the MaintenanceError that `work` rejects with. */
export const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => {
      if (error instanceof MaintenanceError) return error.code;
      throw error;
    },
  );
