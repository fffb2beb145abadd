import { hasPostgres, startPostgres } from '@footbridge/testkit/servers/postgres';
import { afterAll, beforeAll, describe } from 'vitest';

import { openDatabase } from '../../sql/open-database.ts';
import { createSqlAssetIndex } from './asset-index-sql.ts';
import { assetIndexContract } from './asset-index.contract.ts';

const engine = async (choice: Parameters<typeof openDatabase>[0], clock: { now(): number }) => {
  const database = await openDatabase(choice, () => {});
  const hashes = (handle: string) => [`new ${handle.slice(-4)}`, `old ${handle.slice(-4)}`];
  return { index: createSqlAssetIndex({ db: database.db, clock, hashes }), close: () => database.close() };
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
});
