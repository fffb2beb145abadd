import { FakeClock } from '@footbridge/testkit/fake-clock';
import { hasPostgres, startPostgres } from '@footbridge/testkit/servers/postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { EngineError } from '../../platform/errors.ts';
import { openDatabase } from '../../platform/sql/open-database.ts';
import { alertOutboxContract } from './alert-outbox.contract.ts';
import { createSqlAlertOutbox } from './alert-outbox-sql.ts';

async function open(choice: Parameters<typeof openDatabase>[0]) {
  const database = await openDatabase(choice, () => {});
  const { db } = database;
  const clock = new FakeClock();
  return {
    outbox: createSqlAlertOutbox({ db, clock, otherNodes: true }),
    alone: createSqlAlertOutbox({ db, clock, otherNodes: false }),
    clock,
    async openIssue(id: string, license_id: string | null = null) {
      const at = clock.now();
      await db
        .insertInto('issues')
        .values({
          id,
          kind: 'mac_offline',
          subject: id,
          locations: JSON.stringify([id]),
          sentence: 'The Mac is not connected.',
          action: 'Switch it on.',
          since: at,
          opened_at: at,
          closed_at: null,
          seen_by: 'a',
          seen_at: at,
          license_id,
        })
        .execute();
    },
    async openAgain(id: string) {
      await db
        .updateTable('issues')
        .set((is) => ({ closed_at: null, reopened: is('reopened', '+', 1) }))
        .where('id', '=', id)
        .execute();
    },
    async closeIssue(id: string) {
      await db.updateTable('issues').set({ closed_at: clock.now() }).where('id', '=', id).execute();
    },
    async removeIssue(id: string) {
      await db.deleteFrom('issues').where('id', '=', id).execute();
    },
    close: () => database.close(),
  };
}

alertOutboxContract('SQLite', () => open({ engine: 'sqlite', file: ':memory:' }));

describe.skipIf(!(await hasPostgres()))('with PostgreSQL', () => {
  let server: Awaited<ReturnType<typeof startPostgres>>;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());
  alertOutboxContract('PostgreSQL', async () =>
    open({ engine: 'postgres', url: await server.createDatabase() }),
  );
});

it('rejects with EngineError when the database is unavailable', async () => {
  const { outbox, close } = await open({ engine: 'sqlite', file: ':memory:' });
  await close();
  await expect(outbox.claim('webhook', 'a')).rejects.toBeInstanceOf(EngineError);
});
