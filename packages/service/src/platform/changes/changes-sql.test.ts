import { systemClock } from '@footbridge/runtime/clock';
import { silentLog } from '@footbridge/testkit/silent-log';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { hasPostgres, startPostgres } from '@footbridge/testkit/servers/postgres';
import type { Postgres } from '@footbridge/testkit/servers/postgres';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { openDatabase } from '../sql/open-database.ts';
import type { OpenDatabase } from '../sql/open-database.ts';
import { createSqlChanges } from './changes-sql.ts';
import { changesContract } from './changes.contract.ts';

const openMemory = () => openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {});

async function engineOn(databases: readonly OpenDatabase[]) {
  const nodes = await Promise.all(
    databases.map(({ db }) => createSqlChanges({ db, clock: systemClock, log: silentLog, pollMs: 50 })),
  );
  return {
    nodes,
    async close() {
      for (const changes of nodes) await changes.close();
      for (const database of new Set(databases)) await database.close();
    },
  };
}

changesContract('SQLite', async () => {
  const database = await openMemory();
  return await engineOn([database, database]);
});

describe.skipIf(!(await hasPostgres()))('with PostgreSQL', () => {
  let server: Postgres;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  changesContract('PostgreSQL, 2 nodes', async () => {
    const url = await server.createDatabase();
    const open = () => openDatabase({ engine: 'postgres', url }, () => {});
    return await engineOn([await open(), await open()]);
  });
});

describe('the SQL changes', () => {
  const cleanup = createCleanup();
  afterEach(() => cleanup.run());

  async function start() {
    const database = await openMemory();
    cleanup.add(() => database.close());
    const { db } = database;
    const clock = new FakeClock();
    const node = async (through = db) => {
      const changes = await createSqlChanges({ db: through, clock, log: silentLog });
      cleanup.add(() => changes.close());
      const received: string[] = [];
      changes.listen('license', (subject) => received.push(subject));
      return { changes, received };
    };
    return { db, clock, node };
  }

  it('M8 handles a row that becomes visible after one with a higher id', async () => {
    const { db, clock, node } = await start();
    const { received } = await node();
    const insert = (id: number, subject: string) =>
      db.insertInto('changes').values({ id, topic: 'license', subject, at: clock.now() }).execute();
    await insert(8, 'later');
    await clock.advance(1000);
    await insert(7, 'earlier, slow to commit');
    await clock.advance(1000);
    await clock.advance(20_000);
    expect(received).toEqual(['later', 'earlier, slow to commit']);
  });

  it('M8 notifies a node once of its own change when a poll reads the row before the insert resolves', async () => {
    const { db, clock, node } = await start();
    const { promise: polled, resolve: onPolled } = Promise.withResolvers<void>();
    const inserts = new WeakSet<object>();
    const slowInserts = db.withPlugin({
      transformQuery({ node: query, queryId }) {
        if (query.kind === 'InsertQueryNode') inserts.add(queryId);
        return query;
      },
      async transformResult({ result, queryId }) {
        if (inserts.has(queryId)) await polled;
        return result;
      },
    });
    const { changes, received } = await node(slowInserts);
    const announced = changes.announce('license', 'lic-1');
    await clock.advance(1000);
    expect(received).toEqual(['lic-1']);
    onPolled();
    await announced;
    expect(received).toEqual(['lic-1']);
  });

  it('M8 does not notify a node of changes announced before it started', async () => {
    const { clock, node } = await start();
    const first = await node();
    await first.changes.announce('license', 'old');
    const second = await node();
    await first.changes.announce('license', 'new');
    await clock.advance(1000);
    expect(second.received).toEqual(['new']);
  });

  it('M8 catches up after the database was unavailable', async () => {
    const { db, clock, node } = await start();
    const [first, second] = [await node(), await node()];
    await db.schema.alterTable('changes').renameTo('unavailable').execute();
    await expect(first.changes.announce('license', 'not announced')).rejects.toThrow(/other nodes/);
    expect(first.received).toEqual(['not announced']);
    await clock.advance(30_000);
    await db.schema.alterTable('unavailable').renameTo('changes').execute();
    await first.changes.announce('license', 'lic-1');
    await clock.advance(1000);
    expect(second.received).toEqual(['lic-1']);
  });

  it('M8 notifies a node with * when it was disconnected for longer than rows are kept', async () => {
    const { db, clock, node } = await start();
    const { received } = await node();
    await db.schema.alterTable('changes').renameTo('unavailable').execute();
    await clock.advance(3_700_000);
    await db.schema.alterTable('unavailable').renameTo('changes').execute();
    await clock.advance(1000);
    expect(received).toEqual(['*']);
  });

  it('M8 deletes rows after an hour', async () => {
    const { db, clock, node } = await start();
    const { changes } = await node();
    await changes.announce('license', 'lic-1');
    await clock.advance(3_000_000);
    const count = async () => (await db.selectFrom('changes').selectAll().execute()).length;
    expect(await count()).toBe(1);
    await clock.advance(1_300_000);
    expect(await count()).toBe(0);
  });
});
