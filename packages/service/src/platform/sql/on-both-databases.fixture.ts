import { hasPostgres, startPostgres } from '@footbridge/testkit/servers/postgres';
import type { Postgres } from '@footbridge/testkit/servers/postgres';
import { afterAll, afterEach, beforeAll, describe } from 'vitest';

import { openDatabase } from './open-database.ts';
import type { OpenDatabase } from './open-database.ts';

const POSTGRES = await hasPostgres();

type Tests = (
  open: () => Promise<OpenDatabase>,
  engine: OpenDatabase['engine'],
  /** Opens a database as another process does. Only for PostgreSQL: one process owns a SQLite database. */
  openAgain: (database: OpenDatabase) => Promise<OpenDatabase>,
) => void;

/** Deletes all rows, in any order, and starts generated ids again. Creating and migrating a database takes ten times as long. */
const EMPTY = `do $$
  declare name text;
  begin
    set local session_replication_role = replica;
    for name in select tablename from pg_tables where schemaname = 'public' and tablename not like 'kysely%' loop
      execute format('delete from %I', name);
    end loop;
    perform setval(sequencename::regclass, start_value, false) from pg_sequences where schemaname = 'public';
  end $$`;

/** Runs tests on SQLite and on PostgreSQL, where it can be started. `open` resolves with an empty database, which is closed after the test. */
export function onBothDatabases(what: string, tests: Tests): void {
  const opened: OpenDatabase[] = [];
  const urls = new WeakMap<OpenDatabase, string>();
  const openNew = async (choice: Parameters<typeof openDatabase>[0]): Promise<OpenDatabase> => {
    const database = await openDatabase(choice, () => {});
    opened.push(database);
    if (choice.engine === 'postgres') urls.set(database, choice.url);
    return database;
  };
  const openServer = (url: string) => openNew({ engine: 'postgres', url });
  const closeAll = async () => void (await Promise.all(opened.splice(0).map((database) => database.close())));

  describe(`${what} in SQLite`, () => {
    afterEach(closeAll);
    const openAgain = () => Promise.reject(new Error('one process owns a SQLite database'));
    tests(() => openNew({ engine: 'sqlite', file: ':memory:' }), 'sqlite', openAgain);
  });

  describe.skipIf(!POSTGRES)(`${what} in PostgreSQL`, () => {
    let server: Postgres | undefined;
    const unused: string[] = [];
    let used: string[] = [];
    beforeAll(async () => {
      server = await startPostgres();
    });
    afterEach(async () => {
      await closeAll();
      await Promise.all(used.map(async (url) => server?.execute(url, EMPTY)));
      unused.push(...used);
      used = [];
    });
    afterAll(() => server?.stop());
    const open = async () => {
      const url = unused.pop() ?? (await server?.createDatabase()) ?? '';
      used.push(url);
      return openServer(url);
    };
    tests(open, 'postgres', (database) => openServer(urls.get(database) ?? ''));
  });
}
