import { FakeClock } from '@footbridge/testkit/fake-clock';
import { hasPostgres, startPostgres } from '@footbridge/testkit/servers/postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { EngineError } from '../../platform/errors.ts';
import { openDatabase } from '../../platform/sql/open-database.ts';
import { issuesContract } from './issues.contract.ts';
import { createSqlIssues } from './issues-sql.ts';

async function open(choice: Parameters<typeof openDatabase>[0]) {
  const database = await openDatabase(choice, () => {});
  const clock = new FakeClock();
  return {
    issues: createSqlIssues({ db: database.db, clock }),
    clock,
    close: () => database.close(),
  };
}

issuesContract('SQLite', () => open({ engine: 'sqlite', file: ':memory:' }));

describe.skipIf(!(await hasPostgres()))('with PostgreSQL', () => {
  let server: Awaited<ReturnType<typeof startPostgres>>;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());
  issuesContract('PostgreSQL', async () => open({ engine: 'postgres', url: await server.createDatabase() }));
});

it('rejects with EngineError when the database is unavailable', async () => {
  const { issues, close } = await open({ engine: 'sqlite', file: ':memory:' });
  await close();
  await expect(issues.listOpen()).rejects.toBeInstanceOf(EngineError);
});
