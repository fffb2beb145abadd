import { FakeClock } from '@footbridge/testkit/fake-clock';
import { hasPostgres, startPostgres } from '@footbridge/testkit/servers/postgres';
import { createQueryId } from 'kysely';
import type { RootOperationNode } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { EngineError } from '../../errors.ts';
import { openDatabase } from '../../sql/open-database.ts';
import { createSqlJournal } from './journal-sql.ts';
import { journalContract } from './journal.contract.ts';

const ignore = () => {};

journalContract('SQLite', () => openDatabase({ engine: 'sqlite', file: ':memory:' }, ignore));

describe.skipIf(!(await hasPostgres()))('with PostgreSQL', () => {
  let server: Awaited<ReturnType<typeof startPostgres>>;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  journalContract('PostgreSQL', async () =>
    openDatabase({ engine: 'postgres', url: await server.createDatabase() }, ignore),
  );
});

it('T54 SQLite reads the newest messages of each location from the index', async () => {
  const database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, ignore);
  const nodes: RootOperationNode[] = [];
  const db = database.db.withPlugin({
    transformQuery({ node }) {
      nodes.push(node);
      return node;
    },
    transformResult: async ({ result }) => result,
  });
  const log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
  const journal = createSqlJournal({
    database: { ...database, db },
    clock: new FakeClock(),
    log,
    handleKeys: [],
  });
  await journal.list({ limit: 10, locationIds: ['loc1', 'loc2'] });
  await journal.newest({ limit: 10, locationIds: ['loc1', 'loc2'] });
  const all = nodes.map((node) => database.db.getExecutor().compileQuery(node, createQueryId()));
  const unions = all.filter((query) => query.sql.includes('union all'));
  expect(unions).toHaveLength(2);
  for (const query of unions) {
    const { rows } = await database.db.executeQuery({ ...query, sql: `EXPLAIN QUERY PLAN ${query.sql}` });
    const plan = JSON.stringify(rows);
    expect(plan.match(/USING INDEX messages_location \(location_id=\?\)/g)).toHaveLength(2);
    expect(plan.match(/FOR LAST TERM OF ORDER BY/g)).toHaveLength(2);
  }
  await journal.close();
  await database.close();
});

describe('the SQL journal without its database', () => {
  it('rejects reads with EngineError', async () => {
    const database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, ignore);
    const log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
    const journal = createSqlJournal({ database, clock: new FakeClock(), log, handleKeys: [] });
    await database.db.schema.alterTable('messages').renameTo('gone').execute();
    for (const read of [
      () => journal.list({ limit: 1 }),
      () => journal.show('one'),
      () => journal.sentStatuses('one'),
      () => journal.inboundEntry('loc', 'guid'),
    ])
      await expect(read()).rejects.toBeInstanceOf(EngineError);
    await journal.close();
    await database.close();
  });

  it('keeps changes in memory, logs that once, and writes them when the database is back', async () => {
    const database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, ignore);
    const clock = new FakeClock();
    const logged: object[] = [];
    const record = (fields: object) => logged.push(fields);
    const log = { debug: ignore, info: record, warn: record, error: record };
    const journal = createSqlJournal({ database, clock, log, handleKeys: [] });
    const entry = { direction: 'outbound', locationId: 'loc', messageId: null, kind: 'text' } as const;
    await database.db.schema.alterTable('message_steps').renameTo('gone').execute();

    journal.open({ ...entry, id: 'one', handle: null, contactId: null, length: 1 }, 'accepted');
    await clock.advance(1000);
    journal.step('one', 'written', { state: 'written' });
    await clock.advance(1000);
    expect(logged).toMatchObject([{ event: 'journal.write_failed' }]);

    await database.db.schema.alterTable('gone').renameTo('message_steps').execute();
    await clock.advance(1000);
    expect(logged).toMatchObject([{ event: 'journal.write_failed' }, { event: 'journal.writable' }]);
    expect(await journal.show('one')).toMatchObject({
      state: 'written',
      steps: [{ step: 'accepted' }, { step: 'written' }],
    });
    await journal.close();
    await database.close();
  });
});
