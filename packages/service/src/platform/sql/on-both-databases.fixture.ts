import { hasPostgres, startPostgres } from '@footbridge/testkit/servers/postgres';
import type { Postgres } from '@footbridge/testkit/servers/postgres';
import { afterAll, afterEach, beforeAll, describe } from 'vitest';

import { openDatabase } from './open-database.ts';
import type { OpenDatabase } from './open-database.ts';

const POSTGRES = await hasPostgres();

type Tests = (open: () => Promise<OpenDatabase>, engine: OpenDatabase['engine']) => void;

/** Runs tests on SQLite and on PostgreSQL, where it can be started. `open` resolves with a new database, which is closed after the test. */
export function onBothDatabases(what: string, tests: Tests): void {
  const opened: OpenDatabase[] = [];
  const keep = async (opening: Promise<OpenDatabase>): Promise<OpenDatabase> => {
    const database = await opening;
    opened.push(database);
    return database;
  };
  const closeAll = async () => void (await Promise.all(opened.splice(0).map((database) => database.close())));

  describe(`${what} in SQLite`, () => {
    afterEach(closeAll);
    tests(() => keep(openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {})), 'sqlite');
  });

  describe.skipIf(!POSTGRES)(`${what} in PostgreSQL`, () => {
    let server: Postgres | undefined;
    beforeAll(async () => {
      server = await startPostgres();
    });
    afterEach(closeAll);
    afterAll(() => server?.stop());
    tests(
      async () =>
        keep(openDatabase({ engine: 'postgres', url: (await server?.createDatabase()) ?? '' }, () => {})),
      'postgres',
    );
  });
}
