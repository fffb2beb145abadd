import { hasPostgres, startPostgres } from '@footbridge/testkit/servers/postgres';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openDatabase } from '../../platform/sql/open-database.ts';
import { createSqlAssetIndex } from './asset-index-sql.ts';
import { assetIndexContract } from './asset-index.contract.ts';

const engine = async (choice: Parameters<typeof openDatabase>[0], clock: { now(): number }) => {
  const database = await openDatabase(choice, () => {});
  const hashes = (handle: string) => [`new ${handle.slice(-4)}`, `old ${handle.slice(-4)}`];
  return { index: createSqlAssetIndex({ database, clock, hashes }), close: () => database.close() };
};

assetIndexContract('SQLite', (clock) => engine({ engine: 'sqlite', file: ':memory:' }, clock));

describe.skipIf(!(await hasPostgres()))('with PostgreSQL', () => {
  let server: Awaited<ReturnType<typeof startPostgres>>;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());
  assetIndexContract('PostgreSQL', async (clock) =>
    engine({ engine: 'postgres', url: await server.createDatabase() }, clock),
  );

  it('I8 recounts the files after a node of an earlier version added and removed some', async () => {
    const database = await openDatabase({ engine: 'postgres', url: await server.createDatabase() }, () => {});
    const index = createSqlAssetIndex({ database, clock: { now: () => 1000 }, hashes: () => [] });
    const record = (id: string, locationId: string) => ({
      id,
      locationId,
      licenseId: `lic of ${locationId}`,
      name: 'photo.jpg',
      contentType: 'image/jpeg',
      size: 10,
      sha256: 'ab'.repeat(32),
      originalId: null,
      note: null,
      createdAt: 1000,
      expiresAt: 2000,
    });
    await index.add(record('a', 'loc1'));
    await index.add(record('b', 'loc2'));
    await sql`INSERT INTO assets SELECT * FROM jsonb_populate_recordset(NULL::assets,
      (SELECT jsonb_agg(to_jsonb(assets) || '{"id": "c"}') FROM assets WHERE id = 'a'))`.execute(database.db);
    await sql`DELETE FROM assets WHERE id = 'b'`.execute(database.db);
    expect(await index.totals()).toEqual({ count: 2, bytes: 20 });
    await index.recount();
    for (const [of, count] of [
      ['loc1', 2],
      ['loc2', 0],
    ] as const) {
      expect(await index.totals({ locationId: of })).toEqual({ count, bytes: 10 * count });
      expect(await index.totals({ licenseId: `lic of ${of}` })).toEqual({ count, bytes: 10 * count });
    }
    // Removing a file that was not counted when it was added does not leave a negative total.
    for (const id of ['a', 'c']) await index.remove(id);
    expect(await index.totals()).toEqual({ count: 0, bytes: 0 });
    expect(await index.totals({ licenseId: 'lic of loc1' })).toEqual({ count: 0, bytes: 0 });
    await database.close();
  });
});
