import { hasPostgres, startPostgres } from '@footbridge/testkit/servers/postgres';
import type { Postgres } from '@footbridge/testkit/servers/postgres';
import { afterAll, beforeAll, describe } from 'vitest';

import { openDatabase } from '../../platform/sql/open-database.ts';
import { reachFieldsContract } from './reach-fields.contract.ts';

reachFieldsContract('SQLite', () => openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {}));

describe.skipIf(!(await hasPostgres()))('with PostgreSQL', () => {
  let server: Postgres;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());
  reachFieldsContract('PostgreSQL', async () =>
    openDatabase({ engine: 'postgres', url: await server.createDatabase() }, () => {}),
  );
});
