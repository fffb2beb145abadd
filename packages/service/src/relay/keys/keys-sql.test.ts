import { hasPostgres, startPostgres } from '@footbridge/testkit/servers/postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { EngineError } from '../../platform/errors.ts';
import { openDatabase } from '../../platform/sql/open-database.ts';
import { openCrmKeys } from './keys-sql.ts';
import { keysContract } from './keys.contract.ts';

type Choice = Parameters<typeof openDatabase>[0];

async function open(choice: Choice) {
  const database = await openDatabase(choice, () => {});
  return { keys: openCrmKeys(database.db, () => 1000), close: () => database.close() };
}

keysContract('SQLite', () => open({ engine: 'sqlite', file: ':memory:' }));

describe.skipIf(!(await hasPostgres()))('with PostgreSQL', () => {
  let server: Awaited<ReturnType<typeof startPostgres>>;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());
  keysContract('PostgreSQL', async () => open({ engine: 'postgres', url: await server.createDatabase() }));
});

it('S6 rejects with EngineError when the database is unavailable', async () => {
  const { keys, close } = await open({ engine: 'sqlite', file: ':memory:' });
  await close();
  await expect(keys.list()).rejects.toBeInstanceOf(EngineError);
});
