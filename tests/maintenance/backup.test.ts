import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { EXIT } from '@footbridge/cli/cli-error';
import { compileCache } from '@footbridge/runtime/compile-cache.js';
import type { DatabaseConfig } from '@footbridge/service/platform/sql/settings';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { hasPostgres, startPostgres } from '@footbridge/testkit/servers/postgres';
import type { Postgres } from '@footbridge/testkit/servers/postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { backup } from '../../packages/maintenance/src/backup.ts';
import { restore } from '../../packages/maintenance/src/restore.ts';
import { startBridge } from '../bridge.ts';
import { runCli } from '../cli/run-cli.ts';
import { KEY, depsOf, dump, fill, inDatabase } from './maintenance-setup.ts';

const cleanup = createCleanup();
afterAll(() => cleanup.run());
const hasServer = await hasPostgres();

let postgres: Postgres;
beforeAll(async () => {
  if (!hasServer) return;
  postgres = await startPostgres();
  cleanup.add(() => postgres.stop());
});

interface Stored {
  readonly env: Record<string, string>;
  readonly database: DatabaseConfig;
  /** Deletes everything that the service has stored. */
  readonly destroy: () => Promise<void>;
}

const ENGINES: Readonly<Record<string, () => Promise<Stored>>> = {
  async SQLite() {
    const dataDir = join(await tempDir(cleanup), 'data');
    return {
      env: { DATA_DIR: dataDir },
      database: { engine: 'sqlite', file: join(dataDir, 'footbridge.sqlite') },
      destroy: async () => rmSync(dataDir, { recursive: true }),
    };
  },
  ...(hasServer && {
    async PostgreSQL() {
      const dataDir = join(await tempDir(cleanup), 'data');
      const url = await postgres.createDatabase();
      return {
        env: { DATA_DIR: dataDir, DATABASE_URL: url },
        database: { engine: 'postgres', url },
        async destroy() {
          rmSync(dataDir, { recursive: true });
          await postgres.execute(url, 'drop schema public cascade; create schema public');
        },
      };
    },
  }),
};

const withKey = (folder: string): Record<string, string> => {
  const file = join(folder, 'backup-key');
  writeFileSync(file, `${KEY}\n`);
  return { BACKUP_KEY_FILE: file };
};

describe.each(Object.entries(ENGINES))('footbridge backup and restore: %s', (_engine, store) => {
  it('restores all data of a running service after the data was destroyed', async () => {
    const { env, database, destroy } = await store();
    const folder = await tempDir(cleanup);
    const file = join(folder, 'footbridge.backup');
    const settings = { ...env, ...withKey(folder) };
    mkdirSync(env['DATA_DIR'] ?? '', { mode: 0o700 });
    await fill(database);
    const bridge = await startBridge({ ...settings, DATABASE_URL: '', ...env });
    const { operatorToken } = bridge;
    const made = await runCli(['backup', file], folder, settings);
    expect(made).toMatchObject({ code: EXIT.done, stderr: '' });
    expect(made.lines[0]).toMatchObject({ file, bytes: statSync(file).size });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).toSorted()).toEqual(['backup-key', 'footbridge.backup']);
    const refused = await runCli(['restore', file, '--yes'], folder, settings);
    expect(refused.code).toBe(EXIT.failed);
    expect(JSON.parse(refused.stderr)).toMatchObject({ code: 'DATABASE_IN_USE' });
    await bridge.close();
    const before = await dump(database);
    expect(before['messages']).toHaveLength(2000);
    expect(before['licenses']).toHaveLength(6);

    await destroy();
    const restored = await runCli(['restore', file, '--yes'], folder, settings);
    expect(restored).toMatchObject({ code: EXIT.done, stderr: '' });
    expect(await dump(database)).toEqual(before);
    expect(readFileSync(join(env['DATA_DIR'] ?? '', 'operator-token'), 'utf8').trim()).toBe(operatorToken);

    const again = await startBridge({ ...settings, DATABASE_URL: '', ...env });
    const response = await fetch(`${again.operatorUrl}/operator/licenses`, {
      headers: { Authorization: `Bearer ${operatorToken}` },
    });
    expect(response.status).toBe(200);
    await again.close();
  });

  it('replaces existing data, and generated ids continue after the restored ones', async () => {
    const { env, database } = await store();
    const file = join(await tempDir(cleanup), 'footbridge.backup');
    mkdirSync(env['DATA_DIR'] ?? '', { mode: 0o700 });
    await fill(database, 500);
    const before = await dump(database);
    await backup(depsOf(env), file, false);
    const bridge = await startBridge({ DATABASE_URL: '', ...env });
    await fetch(`${bridge.operatorUrl}/operator/licenses`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${bridge.operatorToken}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ label: 'made after the backup', maxSeats: 1 }),
    });
    await bridge.close();
    expect(await dump(database)).not.toEqual(before);
    const { former } = await restore(depsOf(env), file);
    expect(await dump(database)).toEqual(before);
    for (const path of former) expect(existsSync(path)).toBe(true);
    expect(former).toHaveLength(database.engine === 'sqlite' ? 1 : 0);
    await expect(addChange(database)).resolves.toBe(4);
  });
});

/** Adds a change and resolves with its generated id. */
const addChange = (database: DatabaseConfig): Promise<number> =>
  inDatabase(database, async (db) => {
    const change = { topic: 'keys', subject: 's', at: 1 };
    return (await db.insertInto('changes').values(change).returning('id').executeTakeFirstOrThrow()).id;
  });

describe.skipIf(!hasServer)('between engines', () => {
  it('restores a backup of SQLite into PostgreSQL and back', async () => {
    const from = await ENGINES['SQLite']?.();
    const to = await ENGINES['PostgreSQL']?.();
    if (from === undefined || to === undefined) throw new Error('both engines are needed');
    mkdirSync(from.env['DATA_DIR'] ?? '', { mode: 0o700 });
    await fill(from.database, 10);
    const before = await dump(from.database);
    const folder = await tempDir(cleanup);
    await backup(depsOf(from.env), join(folder, 'one'), false);
    await restore(depsOf(to.env), join(folder, 'one'));
    expect(await dump(to.database)).toEqual(before);
    await backup(depsOf(to.env), join(folder, 'two'), false);
    await from.destroy();
    await restore(depsOf(from.env), join(folder, 'two'));
    expect(await dump(from.database)).toEqual(before);
  });

  it('reports why a restore failed, even if the connection to PostgreSQL was lost as well', async () => {
    const stored = await ENGINES['PostgreSQL']?.();
    if (stored?.database.engine !== 'postgres') throw new Error('PostgreSQL is needed');
    const { env, database } = stored;
    await fill(database, 10);
    const before = await dump(database);
    const file = join(await tempDir(cleanup), 'footbridge.backup');
    await backup(depsOf(env), file, false);
    const failpoint = async () => {
      await postgres.execute(
        database.url,
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      );
      throw new Error('the first failure');
    };
    await expect(restore({ ...depsOf(env), failpoint }, file)).rejects.toThrow('the first failure');
    expect(await dump(database)).toEqual(before);
    await restore(depsOf(env), file);
  });

  it('leaves tables of other programs in the same database alone', async () => {
    const stored = await ENGINES['PostgreSQL']?.();
    if (stored?.database.engine !== 'postgres') throw new Error('PostgreSQL is needed');
    const { env, database } = stored;
    await fill(database, 10);
    await postgres.execute(
      database.url,
      'create table invoices (id int primary key); insert into invoices values (7)',
    );
    const file = join(await tempDir(cleanup), 'footbridge.backup');
    await backup(depsOf(env), file, false);
    await restore(depsOf(env), file);
    // Throws unless the row is there exactly once.
    await postgres.execute(database.url, 'do $$ begin assert (select sum(id) from invoices) = 7; end $$');
  });
});

it('reports a disk that fills up, and leaves the data and the backup folder as they were', async () => {
  const stored = await ENGINES['SQLite']?.();
  if (stored === undefined) throw new Error('SQLite is always there');
  const { env, database } = stored;
  const folder = await tempDir(cleanup);
  const settings = { ...env, ...withKey(folder) };
  mkdirSync(env['DATA_DIR'] ?? '', { mode: 0o700 });
  await fill(database, 20_000);
  const file = join(folder, 'footbridge.backup');
  await backup(depsOf(env), file, false);
  const before = await dump(database);
  /** Limits the size of files, so that the first write or a later one fails, as on a full disk. */
  const limited = (blocks: number, program: string, ...args: string[]) =>
    promisify(execFile)(
      'sh',
      [
        '-c',
        `ulimit -f ${blocks}; exec "$@"`,
        'sh',
        process.execPath,
        '--disable-warning=ExperimentalWarning',
        program,
        ...args,
      ],
      { cwd: folder, env: { ...settings, ...compileCache(), PATH: process.env['PATH'] ?? '' } },
    ).then(
      () => ({ code: 0, stderr: '' }),
      (error: { code: number; stderr: string }) => ({ code: error.code, stderr: error.stderr }),
    );
  for (const [blocks, ...args] of [
    [100, 'backup', join(folder, 'second')],
    [100, 'restore', file, '--yes'],
    [0, 'backup', join(folder, 'second')],
    [0, 'restore', file, '--yes'],
    [0, 'migrate'],
  ] as const) {
    const { code, stderr } = await limited(blocks, CLI, ...args);
    expect(code, stderr).toBe(EXIT.failed);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(JSON.parse(stderr)).toMatchObject({ code: 'DISK_FULL' });
  }
  const started = await limited(0, SERVICE);
  expect(started).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^footbridge: .*the disk is full/),
  });
  expect(await dump(database)).toEqual(before);
  expect(readdirSync(folder).toSorted()).toEqual(['backup-key', 'footbridge.backup']);
  expect(readdirSync(env['DATA_DIR'] ?? '')).not.toContainEqual(expect.stringContaining('restoring'));
});

const CLI = join(import.meta.dirname, '../../packages/cli/src/main.ts');
const SERVICE = join(import.meta.dirname, '../../packages/service/src/main.ts');
