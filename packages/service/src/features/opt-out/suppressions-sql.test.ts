import { hasPostgres, startPostgres } from '@footbridge/testkit/servers/postgres';
import { afterAll, beforeAll, describe } from 'vitest';

import { openDatabase } from '../../platform/sql/open-database.ts';
import { suppressionsContract } from './suppressions.contract.ts';

const ignore = () => {};

suppressionsContract('SQLite', () => openDatabase({ engine: 'sqlite', file: ':memory:' }, ignore));

describe.skipIf(!(await hasPostgres()))('with PostgreSQL', () => {
  let server: Awaited<ReturnType<typeof startPostgres>>;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  suppressionsContract('PostgreSQL', async () =>
    openDatabase({ engine: 'postgres', url: await server.createDatabase() }, ignore),
  );
});
