import { execFile } from 'node:child_process';
import { chownSync, cpSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';

import { EXIT } from '@footbridge/cli/cli-error';
import { migrateSqlite } from '@footbridge/service/platform/sql/migrate';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { startService } from '@footbridge/testkit/service';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { backup } from '../../packages/maintenance/src/backup.ts';
import type { Manifest } from '../../packages/maintenance/src/backup-records.ts';
import { restore } from '../../packages/maintenance/src/restore.ts';
import {
  KEY,
  codeOf,
  depsOf,
  dump,
  fill,
  inDatabase,
  runCommand,
  sealedBackup,
} from './maintenance-setup.ts';

const cleanup = createCleanup();
afterAll(() => cleanup.run());

let folder: string;
let env: { DATA_DIR: string };
let database: { engine: 'sqlite'; file: string };
let good: Buffer;
let before: Awaited<ReturnType<typeof dump>>;

beforeAll(async () => {
  folder = await tempDir(cleanup);
  env = { DATA_DIR: join(folder, 'data') };
  database = { engine: 'sqlite', file: join(env.DATA_DIR, 'footbridge.sqlite') };
  mkdirSync(env.DATA_DIR, { mode: 0o700 });
  await fill(database);
  await backup(depsOf(env), join(folder, 'good'), false);
  good = readFileSync(join(folder, 'good'));
  // The data changes after the backup, so that an unwanted restore would be detected.
  await inDatabase(database, (db) => db.deleteFrom('suppressions').execute());
  before = await dump(database);
});

const changed = (at: number) => {
  const copy = Buffer.from(good);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
};
/** The offset after the two lines of the head. */
const headEnd = () => good.indexOf('\n', good.indexOf('\n') + 1) + 1;

/** The records of the backup, each with its length. */
function frames(): Buffer[] {
  const all: Buffer[] = [];
  for (let at = headEnd(); at < good.length;) {
    const end = at + 4 + good.readUInt32BE(at);
    all.push(good.subarray(at, end));
    at = end;
  }
  return all;
}

const assembled = (parts: readonly Buffer[]) => Buffer.concat([good.subarray(0, headEnd()), ...parts]);

const BAD: Readonly<Record<string, readonly [make: () => Buffer, code: string]>> = {
  'an empty file': [() => Buffer.alloc(0), 'BACKUP_DAMAGED'],
  'another kind of file': [() => Buffer.from('SQLite format 3\0'.repeat(100)), 'BACKUP_DAMAGED'],
  'a file that ends within its head': [() => good.subarray(0, 40), 'BACKUP_DAMAGED'],
  'a changed head': [
    () => Buffer.from(good.toString('latin1').replace('"version":"0.0.0"', '"version":"0.0.1"'), 'latin1'),
    'BACKUP_DAMAGED',
  ],
  'a changed length': [() => changed(headEnd() + 3), 'BACKUP_DAMAGED'],
  'a changed byte in the first record': [() => changed(headEnd() + 10), 'BACKUP_DAMAGED'],
  'a changed byte in the last record': [() => changed(good.length - 1), 'BACKUP_DAMAGED'],
  'a file without its last byte': [() => good.subarray(0, -1), 'BACKUP_DAMAGED'],
  'a file without its last record': [() => assembled(frames().slice(0, -1)), 'BACKUP_DAMAGED'],
  'a file with a record left out': [() => assembled(frames().toSpliced(1, 1)), 'BACKUP_DAMAGED'],
  'reordered records': [
    () => assembled([...frames().slice(0, 1), ...frames().slice(1, -1).toReversed(), ...frames().slice(-1)]),
    'BACKUP_DAMAGED',
  ],
  'bytes after the end': [() => Buffer.concat([good, good.subarray(headEnd())]), 'BACKUP_DAMAGED'],
  'a newer format': [
    () =>
      Buffer.from(good.toString('latin1').replace('footbridge-backup 1', 'footbridge-backup 2'), 'latin1'),
    'BACKUP_NEWER',
  ],
};

const MAIN: Manifest['databases'][number] = {
  name: 'main',
  engine: 'sqlite',
  migration: '0001-first',
  tables: [],
};
const TAMPERED: Readonly<Record<string, readonly [object, Record<string, string>]>> = {
  'with a file outside of DATA_DIR': [{}, { '../outside': 'x' }],
  'with another file': [{}, { 'restore-in-progress': 'x' }],
  'with another database': [{ name: '../outside' }, {}],
  'with another table': [{ tables: [{ name: 'kysely_migration', columns: ['name'] }] }, {}],
  'with another column': [{ tables: [{ name: 'audit', columns: ['id") values (1); --'] }] }, {}],
  'with wrong types': [{ tables: 7 }, {}],
};

describe('footbridge restore', () => {
  it('is tested with a backup of several records', () => {
    expect(frames().length).toBeGreaterThan(5);
  });

  it.each(Object.entries(BAD))('refuses %s and changes nothing', async (_name, [make, code]) => {
    const file = join(folder, 'bad');
    writeFileSync(file, make());
    expect(await codeOf(restore(depsOf(env), file))).toBe(code);
    expect(await dump(database)).toEqual(before);
    expect(readdirSync(env.DATA_DIR)).toEqual(['footbridge.sqlite']);
  });

  it.each(Object.entries(TAMPERED))(
    'T69 refuses a backup %s, although its key is right',
    async (_name, [main, files]) => {
      const file = await sealedBackup(join(folder, 'sealed'), { databases: [{ ...MAIN, ...main }], files });
      expect(await codeOf(restore(depsOf(env), file))).toBe('BACKUP_DAMAGED');
      expect(await dump(database)).toEqual(before);
      expect(readdirSync(env.DATA_DIR)).toEqual(['footbridge.sqlite']);
      expect(readdirSync(folder)).not.toContain('outside');
    },
  );

  it('refuses the backup of a newer version, although its format is known', async () => {
    const file = await sealedBackup(join(folder, 'sealed'), {
      databases: [{ ...MAIN, migration: '9999-from-the-future' }],
      files: { 'later-secret': '' },
    });
    expect(await codeOf(restore(depsOf(env), file))).toBe('BACKUP_NEWER');
    expect(await dump(database)).toEqual(before);
  });

  it('migrates the backup of an older version', async () => {
    const old = await tempDir(cleanup);
    const file = join(old, 'footbridge.sqlite');
    const sqlite = new DatabaseSync(file);
    await migrateSqlite(sqlite, { to: '0001-first' });
    sqlite.exec("insert into audit values ('a', 1, 'operator', 'license.create', 'l', null)");
    sqlite.close();
    await backup(depsOf({ DATA_DIR: old }), join(old, 'backup'), false);
    const next = await tempDir(cleanup);
    await restore(depsOf({ DATA_DIR: next }), join(old, 'backup'));
    const restored = await dump({ engine: 'sqlite', file: join(next, 'footbridge.sqlite') });
    expect(restored['migrations']).toEqual(before['migrations']);
    expect(restored['audit']).toEqual(['a\t1\toperator\tlicense.create\tl\t\\N\t\\N']);
  });

  it('refuses settings whose databases do not match the backup', async () => {
    const tokens = {
      CRM_OAUTH_ENABLED: 'true',
      CRM_OAUTH_CLIENT_ID: 'app',
      CRM_OAUTH_CLIENT_SECRET: 'secret',
      CRM_OAUTH_TOKEN_URL: 'https://crm.example/oauth/token',
      CRM_OAUTH_ENCRYPTION_KEY: '0123456789abcdef'.repeat(4),
      CRM_OAUTH_REFRESH_THRESHOLD_SEC: '300',
      CRM_OAUTH_DATABASE_URL: `sqlite:${join(folder, 'tokens.sqlite')}`,
    };
    const separate = { ...env, ...tokens };
    expect(await codeOf(restore(depsOf(separate), join(folder, 'good')))).toBe('SETTINGS_INVALID');
    await fill({ engine: 'sqlite', file: join(folder, 'tokens.sqlite') }, 1);
    await backup(depsOf(separate), join(folder, 'both'), false);
    expect(await codeOf(restore(depsOf(env), join(folder, 'both')))).toBe('SETTINGS_INVALID');
    expect(await dump(database)).toEqual(before);
    await restore(depsOf(separate), join(folder, 'both'));
    expect(await dump(database)).toEqual(before);
  });

  it('restores over a damaged database, and keeps the damaged file', async () => {
    const broken = await tempDir(cleanup);
    writeFileSync(join(broken, 'footbridge.sqlite'), 'not a database '.repeat(1000));
    const { former } = await restore(depsOf({ DATA_DIR: broken }), join(folder, 'good'));
    expect(readFileSync(former[0] ?? '', 'utf8')).toMatch(/^not a database/);
    const restored = await dump({ engine: 'sqlite', file: join(broken, 'footbridge.sqlite') });
    expect(restored['licenses']).toEqual(before['licenses']);
  });

  it('run as root gives the restored files to the owner of the data folder', async () => {
    const dataDir = join(await tempDir(cleanup), 'data');
    cpSync(env.DATA_DIR, dataDir, { recursive: true });
    writeFileSync(join(dataDir, 'operator-token'), 'the operator token\n');
    const file = join(folder, 'with-secrets');
    await backup(depsOf({ DATA_DIR: dataDir }), file, false);
    // Only root can change the owner of a file. Any other user already owns the folder and the files.
    if (process.getuid?.() === 0) chownSync(dataDir, 1000, 1000);
    await restore(depsOf({ DATA_DIR: dataDir }), file);
    for (const name of ['footbridge.sqlite', 'operator-token'])
      expect(statSync(join(dataDir, name))).toMatchObject({ uid: statSync(dataDir).uid, mode: 0o100600 });
  });

  it.each([
    [
      'with another key',
      () => ['good'],
      { BACKUP_KEY: 'another passphrase of a backup' },
      EXIT.notAuthorised,
      'BACKUP_KEY_REJECTED',
    ],
    ['without a key', () => ['good'], {}, EXIT.configuration, undefined],
    ['with a short key', () => ['good'], { BACKUP_KEY: 'short' }, EXIT.configuration, 'SETTINGS_INVALID'],
    [
      'of a file that does not exist',
      () => ['nowhere'],
      { BACKUP_KEY: KEY },
      EXIT.notFound,
      'FILE_NOT_FOUND',
    ],
    ['of a folder', () => ['.'], { BACKUP_KEY: KEY }, EXIT.failed, 'BACKUP_DAMAGED'],
    ['of a folder, with --check', () => ['.', '--check'], { BACKUP_KEY: KEY }, EXIT.failed, 'BACKUP_DAMAGED'],
    ['of a damaged file', () => ['damaged'], { BACKUP_KEY: KEY }, EXIT.failed, 'BACKUP_DAMAGED'],
  ])('%s prints one line and exits with its code', async (_name, args, settings, exit, code) => {
    writeFileSync(join(folder, 'damaged'), changed(good.length - 1));
    const [name = '', ...flags] = args();
    const ended = await runCommand(['restore', join(folder, name), ...flags, '--yes'], {
      ...env,
      ...settings,
    });
    expect(ended.code).toBe(exit);
    expect(ended.stdout).toBe('');
    const [line = '', ...rest] = ended.stderr.trim().split('\n');
    expect(rest).toEqual([]);
    expect((JSON.parse(line) as { code?: string }).code).toBe(code);
    expect(ended.stderr).not.toContain(KEY);
  });

  it('names a missing file, and says what to check', async () => {
    const { stderr } = await runCommand(['restore', join(folder, 'nowhere'), '--yes'], {
      ...env,
      BACKUP_KEY: KEY,
    });
    expect(stderr).toContain(`the backup ${join(folder, 'nowhere')} cannot be read`);
    expect(stderr).toContain('check the path, and that this user may read the file');
  });

  it('asks for confirmation, and --check changes nothing', async () => {
    const settings = { ...env, BACKUP_KEY: KEY };
    expect((await runCommand(['restore', join(folder, 'good')], settings)).code).toBe(EXIT.usage);
    const checked = await runCommand(['restore', join(folder, 'good'), '--check'], settings);
    expect(checked).toMatchObject({ code: EXIT.done, stderr: '' });
    expect(checked.lines[0]?.['rows']).toBeGreaterThan(2000);
    expect(await dump(database)).toEqual(before);
  });

  it.each(['restore.afterRows', 'restore.beforeReplace'])(
    'killed at %s changes nothing, and succeeds when it is run again',
    async (failpoint) => {
      const dataDir = join(await tempDir(cleanup), 'data');
      cpSync(env.DATA_DIR, dataDir, { recursive: true });
      const file = join(dataDir, 'footbridge.sqlite');
      const settings = { DATA_DIR: dataDir, BACKUP_KEY: KEY };
      const killed = await runCommand(['restore', join(folder, 'good'), '--yes'], {
        ...settings,
        FAILPOINTS: `${failpoint}:kill`,
      });
      expect(killed.code).toBe(EXIT.failed);
      expect(await dump({ engine: 'sqlite', file })).toEqual(before);
      expect(await runCommand(['restore', join(folder, 'good'), '--yes'], settings)).toMatchObject({
        code: EXIT.done,
      });
      const { suppressions, ...rest } = await dump({ engine: 'sqlite', file });
      expect({ ...rest, suppressions: [] }).toEqual(before);
      expect(suppressions).toHaveLength(1);
      expect(readdirSync(dataDir).filter((name) => name.includes('.restoring'))).toEqual([]);
    },
  );

  it('killed while it replaces the data, prevents the service from starting until it is run again', async () => {
    const dataDir = await tempDir(cleanup);
    const settings = { DATA_DIR: dataDir, BACKUP_KEY: KEY };
    const killed = await runCommand(['restore', join(folder, 'good'), '--yes'], {
      ...settings,
      FAILPOINTS: 'restore.afterReplace:kill',
    });
    expect(killed.code).toBe(EXIT.failed);
    await expect(startService({ dataDir })).rejects.toThrow(/a restore was interrupted/);
    expect(await runCommand(['restore', join(folder, 'good'), '--yes'], settings)).toMatchObject({
      code: EXIT.done,
    });
    const service = await startService({ dataDir });
    await service.stop();
  });
});

describe('footbridge backup', () => {
  it('does not replace a file without --force', async () => {
    const settings = { ...env, BACKUP_KEY: KEY };
    writeFileSync(join(folder, 'precious'), 'precious');
    const refused = await runCommand(['backup', join(folder, 'precious')], settings);
    expect(refused.code).toBe(EXIT.failed);
    expect(readFileSync(join(folder, 'precious'), 'utf8')).toBe('precious');
    expect((await runCommand(['backup', join(folder, 'precious'), '--force'], settings)).code).toBe(
      EXIT.done,
    );
    expect(readFileSync(join(folder, 'precious'), 'latin1')).toMatch(/^footbridge-backup 1\n/);
  });

  it('replaces only a regular file, even with --force', async () => {
    await promisify(execFile)('mkfifo', [join(folder, 'pipe')]);
    mkdirSync(join(folder, 'empty'));
    for (const name of ['pipe', 'empty']) {
      const refused = await runCommand(['backup', join(folder, name), '--force'], {
        ...env,
        BACKUP_KEY: KEY,
      });
      expect(refused.code).toBe(EXIT.failed);
      expect(JSON.parse(refused.stderr)).toMatchObject({
        code: 'FILE_NOT_WRITABLE',
        error: expect.stringContaining('is not a regular file'),
      });
    }
    expect(statSync(join(folder, 'pipe')).isFIFO()).toBe(true);
    expect(statSync(join(folder, 'empty')).isDirectory()).toBe(true);
  });

  it('killed in the middle leaves no file under the name of the backup', async () => {
    const killed = await runCommand(['backup', join(folder, 'half')], {
      ...env,
      BACKUP_KEY: KEY,
      FAILPOINTS: 'backup.afterRows:kill@3',
    });
    expect(killed.code).toBe(EXIT.failed);
    expect(readdirSync(folder)).not.toContain('half');
  });

  it('contains neither labels nor keys in plain text', () => {
    expect(good.includes('back\\slash')).toBe(false);
    expect(good.includes(KEY)).toBe(false);
  });

  it('reports a database file that the user may not read', async () => {
    const dataDir = await tempDir(cleanup);
    const file = join(dataDir, 'footbridge.sqlite');
    writeFileSync(file, '', { mode: 0o000 });
    const module = JSON.stringify(
      join(import.meta.dirname, '../../packages/maintenance/src/snapshot-sqlite.ts'),
    );
    // Root can read every file, so the program drops its privileges.
    const program = `import { openSqliteSnapshot } from ${module};
      process.getuid() || process.setuid(1000);
      await openSqliteSnapshot(${JSON.stringify(file)}).catch(({ message }) => console.log(message));`;
    const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', program];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    expect(stdout).toBe(`this user has no permission to read the database file ${file}\n`);
  });

  it('of a folder without a database fails and creates no file', async () => {
    const empty = await tempDir(cleanup);
    const ended = await runCommand(['backup', join(empty, 'x')], { DATA_DIR: empty, BACKUP_KEY: KEY });
    expect(ended.code).toBe(EXIT.notFound);
    expect(readdirSync(empty)).toEqual([]);
  });
});
