import { FakeClock } from '@footbridge/testkit/fake-clock';
import { hasPostgres, startPostgres } from '@footbridge/testkit/servers/postgres';
import type { Postgres } from '@footbridge/testkit/servers/postgres';
import { afterAll, beforeAll, describe } from 'vitest';

import { openDatabase } from '../../platform/sql/open-database.ts';
import type { OpenDatabase } from '../../platform/sql/open-database.ts';
import { createSqlCaptures } from './captures-sql.ts';
import { capturesContract } from './captures.contract.ts';

async function opened(opening: Promise<OpenDatabase>) {
  const database = await opening;
  const clock = new FakeClock();
  const captures = createSqlCaptures({ db: database.db, clock });
  return { captures, clock, close: () => database.close() };
}

capturesContract('SQLite', () => opened(openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {})));

describe.skipIf(!(await hasPostgres()))('with PostgreSQL', () => {
  let server: Postgres;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());
  capturesContract('PostgreSQL', async () =>
    opened(openDatabase({ engine: 'postgres', url: await server.createDatabase() }, () => {})),
  );
});
