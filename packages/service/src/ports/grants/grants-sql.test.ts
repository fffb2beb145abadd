import { hasPostgres, startPostgres } from '@footbridge/testkit/servers/postgres';
import { afterAll, beforeAll, describe } from 'vitest';

import { openDatabase } from '../../sql/open-database.ts';
import { grantsContract } from './grants.contract.ts';

const ignore = () => {};

grantsContract('SQLite', async () => {
  const database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, ignore);
  return { databases: [database], close: () => database.close() };
});

describe.skipIf(!(await hasPostgres()))('with PostgreSQL', () => {
  let server: Awaited<ReturnType<typeof startPostgres>>;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  grantsContract('PostgreSQL', async () => {
    const url = await server.createDatabase();
    const first = await openDatabase({ engine: 'postgres', url }, ignore);
    const second = await openDatabase({ engine: 'postgres', url }, ignore);
    return {
      databases: [first, second],
      close: async () => {
        await first.close();
        await second.close();
      },
    };
  });
});
