import { FakeClock } from '@footbridge/testkit/fake-clock';
import { hasPostgres, startPostgres } from '@footbridge/testkit/servers/postgres';
import type { Postgres } from '@footbridge/testkit/servers/postgres';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { EngineError } from '../../platform/errors.ts';
import { openDatabase } from '../../platform/sql/open-database.ts';
import type { OpenDatabase } from '../../platform/sql/open-database.ts';
import type { TimedPage } from '../../platform/timed-page.ts';
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

  it('T65 PostgreSQL reads a page of 20,000 devices without the others', async () => {
    const url = await server.createDatabase();
    const database = await openDatabase({ engine: 'postgres', url }, () => {});
    await readsOnlyPages(database);
    await database.close();
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

const DEVICES = 20_000;

/** One license with 20,000 given-up devices, as an earlier version kept them. */
async function addDevices({ db }: OpenDatabase): Promise<void> {
  const row = { license_id: 'lic_many', os_version: '26.1', app_version: '1.0.0', updated_at: 0 };
  await db
    .insertInto('licenses')
    .values({
      id: row.license_id,
      label: 'Many',
      key_hash: 'hash',
      key_hint: 'ABCDE',
      max_seats: 1,
      activation_day: 0,
      activations: 0,
      status: 'active',
      created_at: 0,
      updated_at: 0,
    })
    .execute();
  for (let from = 0; from < DEVICES; from += 500)
    await db
      .insertInto('devices')
      .values(
        Array.from({ length: 500 }, (_, index) => ({
          ...row,
          id: `dev_${from + index}`,
          device_id: `mac-${from + index}`,
          name: `Mac ${from + index}`,
          token_hash: `token ${from + index}`,
          location_id: null,
          status: 'deactivated' as const,
          activated_at: Math.floor((from + index) / 3),
          last_seen_at: 0,
        })),
      )
      .execute();
}

const plan = { sqlite: 'explain query plan', postgres: 'explain' };

async function readsOnlyPages(database: OpenDatabase): Promise<void> {
  const licenses = createSqlLicenses({ database, clock: new FakeClock() });
  await addDevices(database);
  await sql`analyze`.execute(database.db);
  const ids = new Set<string>();
  let slowestMs = 0;
  for (let after: TimedPage['after']; ;) {
    const started = performance.now();
    const page = await licenses.listDevices({ limit: 1000, after });
    slowestMs = Math.max(slowestMs, performance.now() - started);
    expect(page.length).toBeLessThanOrEqual(1000);
    for (const { id } of page) ids.add(id);
    const last = page.at(-1);
    if (last === undefined) break;
    after = { at: last.activatedAt, id: last.id };
  }
  expect(ids.size).toBe(DEVICES);
  expect(slowestMs).toBeLessThan(500);
  const query = sql`${sql.raw(plan[database.engine])} select devices.*, licenses.label from devices
    join licenses on licenses.id = devices.license_id
    where (devices.activated_at, devices.id) > (6000, 'dev_18000')
    order by devices.activated_at, devices.id limit 1000`;
  const { rows } = await query.execute(database.db);
  expect(JSON.stringify(rows)).toContain('devices_activation');
  expect(JSON.stringify(rows)).not.toMatch(/TEMP B-TREE|Sort/);
}

it('T65 SQLite reads a page of 20,000 devices without the others', async () => {
  const database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {});
  await readsOnlyPages(database);
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
