import { FakeClock } from '@footbridge/testkit/fake-clock';
import { hasPostgres, startPostgres } from '@footbridge/testkit/servers/postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { EngineError } from '../errors.ts';
import { openDatabase } from '../sql/open-database.ts';
import { operatorsContract } from './operators.contract.ts';
import { createSqlOperators } from './operators-sql.ts';

async function open(choice: Parameters<typeof openDatabase>[0]) {
  const database = await openDatabase(choice, () => {});
  const clock = new FakeClock();
  return {
    operators: createSqlOperators({ db: database.db, clock }),
    clock,
    close: () => database.close(),
  };
}

operatorsContract('SQLite', () => open({ engine: 'sqlite', file: ':memory:' }));

describe.skipIf(!(await hasPostgres()))('with PostgreSQL', () => {
  let server: Awaited<ReturnType<typeof startPostgres>>;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());
  operatorsContract('PostgreSQL', async () =>
    open({ engine: 'postgres', url: await server.createDatabase() }),
  );
});

it('rejects with EngineError when the database is unavailable', async () => {
  const { operators, close } = await open({ engine: 'sqlite', file: ':memory:' });
  await close();
  await expect(operators.listTokens({ limit: 10 })).rejects.toBeInstanceOf(EngineError);
});
