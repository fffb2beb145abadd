import { FakeClock } from '@footbridge/testkit/fake-clock';
import { hasPostgres, startPostgres } from '@footbridge/testkit/servers/postgres';
import type { Postgres } from '@footbridge/testkit/servers/postgres';
import { afterAll, beforeAll, describe } from 'vitest';

import { openDatabase } from '../../platform/sql/open-database.ts';
import type { OpenDatabase } from '../../platform/sql/open-database.ts';
import { createSqlSeenRequests } from './seen-requests-sql.ts';
import { seenRequestsContract } from './seen-requests.contract.ts';

async function opened(opening: Promise<OpenDatabase>) {
  const database = await opening;
  const clock = new FakeClock();
  const seen = createSqlSeenRequests({ db: database.db, clock }, 2);
  return { seen, clock, close: () => database.close() };
}

seenRequestsContract('SQLite', () => opened(openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {})));

describe.skipIf(!(await hasPostgres()))('with PostgreSQL', () => {
  let server: Postgres;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());
  seenRequestsContract('PostgreSQL', async () =>
    opened(openDatabase({ engine: 'postgres', url: await server.createDatabase() }, () => {})),
  );
});
