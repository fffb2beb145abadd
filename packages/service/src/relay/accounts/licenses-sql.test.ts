import { FakeClock } from '@footbridge/testkit/fake-clock';
import { hasPostgres, startPostgres } from '@footbridge/testkit/servers/postgres';
import type { Postgres } from '@footbridge/testkit/servers/postgres';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { EngineError } from '../../platform/errors.ts';
import { openDatabase } from '../../platform/sql/open-database.ts';
import type { OpenDatabase } from '../../platform/sql/open-database.ts';
import { createSqlLicenses } from './licenses-sql.ts';
import { licensesContract } from './licenses.contract.ts';

function engineOn(databases: readonly OpenDatabase[]) {
  const clock = new FakeClock();
  const maxUnassigned = 10;
  return {
    maxUnassigned,
    nodes: databases.map((database) => createSqlLicenses({ database, clock, maxUnassigned })),
    async deleteAll() {
      for (const table of ['pairing_codes', 'locations', 'devices', 'licenses'] as const)
        await databases[0]?.db.deleteFrom(table).execute();
    },
    passTime: (ms: number) => clock.advance(ms),
    now: () => clock.now(),
    async close() {
      for (const database of databases) await database.close();
    },
  };
}

licensesContract('SQLite', async () =>
  engineOn([await openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {})]),
);

describe.skipIf(!(await hasPostgres()))('with PostgreSQL', () => {
  let server: Postgres;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  licensesContract('PostgreSQL, 2 nodes', async () => {
    const url = await server.createDatabase();
    const open = () => openDatabase({ engine: 'postgres', url }, () => {});
    return engineOn([await open(), await open()]);
  });
});

it('M8 counts the locations of a license without reading those of others', async () => {
  const database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {});
  const { rows } = await sql<{
    detail: string;
  }>`explain query plan select count(*) from locations where license_id = 'l'`.execute(database.db);
  expect(rows.map(({ detail }) => detail).join()).toMatch(/^SEARCH locations .*locations_license/);
  await database.close();
});

describe('the SQL licenses port without its database', () => {
  it('M7 rejects with EngineError, never with an unknown key', async () => {
    const database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {});
    const licenses = createSqlLicenses({ database, clock: new FakeClock() });
    await database.close();
    await expect(licenses.listLicenses()).rejects.toBeInstanceOf(EngineError);
    await expect(licenses.standingsByToken(['x'])).rejects.toBeInstanceOf(EngineError);
  });
});
