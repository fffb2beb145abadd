import { hasPostgres, startPostgres } from '@footbridge/testkit/servers/postgres';
import { afterAll, beforeAll, describe } from 'vitest';

import { openDatabase } from '../../platform/sql/open-database.ts';
import { guidsContract } from './guids.contract.ts';

const ignore = () => {};

guidsContract('SQLite', () => openDatabase({ engine: 'sqlite', file: ':memory:' }, ignore));

describe.skipIf(!(await hasPostgres()))('with PostgreSQL', () => {
  let server: Awaited<ReturnType<typeof startPostgres>>;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  guidsContract('PostgreSQL', async () =>
    openDatabase({ engine: 'postgres', url: await server.createDatabase() }, ignore),
  );
});
