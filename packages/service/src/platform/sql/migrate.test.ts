import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { FakeClock } from '@footbridge/testkit/fake-clock';
import { hasPostgres, startPostgres } from '@footbridge/testkit/servers/postgres';
import { silentLog } from '@footbridge/testkit/silent-log';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';

import { createAssetIndex } from '../../relay/assets/asset-index-sql.ts';
import { Guids } from '../../relay/inbound/guids-sql.ts';
import { createJournal } from '../../relay/journal/journal-sql.ts';
import { keyedHash } from '../../relay/people/handles.ts';
import { migrateSqlite } from './migrate.ts';
import { MIGRATIONS } from './migrations.ts';
import { openDatabase, reason } from './open-database.ts';
import { openSqlite } from './sqlite-dialect.ts';

const folder = mkdtempSync(join(tmpdir(), 'footbridge-'));
afterAll(() => rmSync(folder, { recursive: true }));

const hasServer = await hasPostgres();
const url = (module: string) => JSON.stringify(new URL(module, import.meta.url).href);

/** Returns a program that applies an additional migration, which kills the process after its first statement. */
const killedIn = (dialect: string) => `
  import { Kysely, PostgresDialect, sql } from ${JSON.stringify(import.meta.resolve('kysely'))};
  import pg from ${JSON.stringify(import.meta.resolve('pg'))};
  import { migrate } from ${url('migrate.ts')};
  import { MIGRATIONS } from ${url('migrations.ts')};
  import { openSqlite, sqliteDialect } from ${url('sqlite-dialect.ts')};
  const killed = { async up(db) {
    await sql\`create table half (id integer)\`.execute(db);
    process.kill(process.pid, 'SIGKILL');
  } };
  const db = new Kysely({ dialect: ${dialect} });
  await migrate(db, { migrations: { ...MIGRATIONS, '9999-killed': killed } });`;

async function runKilled(dialect: string): Promise<void> {
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', killedIn(dialect)];
  await expect(promisify(execFile)(process.execPath, args)).rejects.toMatchObject({ signal: 'SIGKILL' });
}

/** Expects that the next start works and that nothing of the interrupted migration remains. */
async function opensCompletely(choice: Parameters<typeof openDatabase>[0]): Promise<void> {
  const database = await openDatabase(choice, () => {});
  const { db } = database;
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db);
  expect(rows.map(({ name }) => name)).toEqual(Object.keys(MIGRATIONS));
  await expect(sql`select * from half`.execute(db)).rejects.toThrow(/half/);
  await database.close();
}

describe('migrate', () => {
  it('killed in the middle leaves a SQLite file that the next start completes', async () => {
    const file = join(folder, 'killed.sqlite');
    await runKilled(`sqliteDialect(openSqlite(${JSON.stringify(file)}), () => {})`);
    await opensCompletely({ engine: 'sqlite', file });
  });

  it.skipIf(!hasServer)(
    'killed in the middle leaves a PostgreSQL database that the next start completes',
    async () => {
      const server = await startPostgres();
      const database = await server.createDatabase();
      await runKilled(
        `new PostgresDialect({ pool: new pg.Pool({ connectionString: ${JSON.stringify(database)} }) })`,
      );
      await opensCompletely({ engine: 'postgres', url: database });
      await server.stop();
    },
  );

  it('reports a full disk, and completes once there is space again', async () => {
    const file = join(folder, 'full.sqlite');
    const sqlite = openSqlite(file);
    sqlite.exec('PRAGMA max_page_count = 20');
    const failure = await migrateSqlite(sqlite).then(
      () => 'migrated',
      (error: unknown) => reason(error),
    );
    expect(failure).toMatch(/^the disk is full; free some space/);
    sqlite.close();
    await opensCompletely({ engine: 'sqlite', file });
  });

  it('finds a person in messages from before there were blocks', async () => {
    const file = join(folder, 'before-blocks.sqlite');
    const handleKeys = [Buffer.alloc(32, 1)];
    const [phone] = keyedHash(handleKeys).handle('+15555550100');
    const sqlite = openSqlite(file);
    await migrateSqlite(sqlite, { to: '0019-locations-of-a-license' });
    sqlite
      .prepare(
        `INSERT INTO messages (id, direction, location_id, kind, status, phone_hash, length, created_at, updated_at)
          VALUES ('old', 'outbound', 'loc', 'text', 'delivered', ?, 1, 1, 1)`,
      )
      .run(phone ?? '');
    sqlite.close();
    const database = await openDatabase({ engine: 'sqlite', file }, () => {});
    const journal = createJournal({ database, clock: new FakeClock(), log: silentLog, handleKeys });
    const entry = { direction: 'outbound', locationId: 'loc', messageId: null, kind: 'text' } as const;
    journal.open({ ...entry, id: 'new', handle: '+15555550100', contactId: null, length: 1 }, 'accepted');
    const { messages } = await journal.list({ handles: ['+15555550100'], limit: 10 });
    expect(messages.map(({ id }) => id)).toEqual(['new', 'old']);
    await journal.close();
    await database.close();
  });

  it('finds messages and claims from before claims contained the id of the journal entry', async () => {
    const file = join(folder, 'before-entries.sqlite');
    const sqlite = openSqlite(file);
    await migrateSqlite(sqlite, { to: '0020-blocks-of-messages' });
    sqlite.exec(`
      INSERT INTO messages (id, direction, location_id, message_id, kind, status, length, created_at, updated_at)
        VALUES ('in', 'inbound', 'loc', 'guid', 'text', 'delivered', 1, 1, 1),
          ('out', 'outbound', 'loc', 'msg', 'text', 'delivered', 1, 1, 1);
      INSERT INTO inbound_guids (location_id, guid, state, owner, epoch, uncertain, created_at, updated_at)
        VALUES ('loc', 'guid', 'sent', 'process-1', 1, 0, 1, 1)`);
    sqlite.close();
    const database = await openDatabase({ engine: 'sqlite', file }, () => {});
    const clock = new FakeClock();
    const journal = createJournal({ database, clock, log: silentLog, handleKeys: [] });
    expect(await journal.show('guid')).toMatchObject({ id: 'in' });
    expect(await journal.show('msg')).toMatchObject({ id: 'out' });
    const guids = new Guids({ database, clock, owner: 'process-2' });
    expect(await guids.claim({ locationId: 'loc', guid: 'guid' }, 'new')).toEqual({
      kind: 'sent',
      entryId: null,
    });
    await guids.close();
    await journal.close();
    await database.close();
  });

  it('counts files from before they belonged to a license for the license that owns their location', async () => {
    const file = join(folder, 'before-files-of-a-license.sqlite');
    const sqlite = openSqlite(file);
    await migrateSqlite(sqlite, { to: '0030-reopened-issues' });
    sqlite.exec(`
      INSERT INTO licenses (id, label, key_hash, key_hint, max_seats, status, created_at, updated_at)
        VALUES ('lic', 'Office', 'hash', 'ABCDE', 1, 'active', 1, 1);
      INSERT INTO locations (location_id, license_id, state, created_at, updated_at)
        VALUES ('owned', 'lic', 'bound', 1, 1), ('free', NULL, 'released', 1, 1);
      INSERT INTO assets (id, location_id, name, content_type, size, sha256, created_at, expires_at)
        VALUES ('a', 'owned', 'a', 'image/png', 10, '', 1, 9), ('b', 'owned', 'b', 'image/png', 20, '', 1, 9),
          ('c', 'free', 'c', 'image/png', 40, '', 1, 9), ('d', 'unknown', 'd', 'image/png', 80, '', 1, 9)`);
    sqlite.close();
    const database = await openDatabase({ engine: 'sqlite', file }, () => {});
    const index = createAssetIndex({ database, clock: new FakeClock(), hashes: () => [] });
    expect(await index.totals({ licenseId: 'lic' })).toEqual({ count: 2, bytes: 30 });
    await database.close();
  });

  it('refuses tables that a newer version has changed, and names the migration', async () => {
    const file = join(folder, 'newer.sqlite');
    const sqlite = openSqlite(file);
    await migrateSqlite(sqlite, { migrations: { ...MIGRATIONS, '9999-newer': { up: async () => {} } } });
    sqlite.close();
    await expect(openDatabase({ engine: 'sqlite', file }, () => {})).rejects.toMatchObject({
      problems: [expect.stringMatching(/a newer version of Footbridge has changed it \(9999-newer\)/)],
    });
  });
});
