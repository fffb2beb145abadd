import { hasPostgres, startPostgres } from '@footbridge/testkit/servers/postgres';
import type { Postgres } from '@footbridge/testkit/servers/postgres';
import { afterAll, beforeAll, describe } from 'vitest';

import { openDatabase } from '../sql/open-database.ts';
import { suspectsContract } from './suspects.contract.ts';

suspectsContract('SQLite', () => openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {}));

describe.skipIf(!(await hasPostgres()))('with PostgreSQL', () => {
  let server: Postgres;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());
  suspectsContract('PostgreSQL', async () =>
    openDatabase({ engine: 'postgres', url: await server.createDatabase() }, () => {}),
  );
});
