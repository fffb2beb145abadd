import { randomBytes } from 'node:crypto';

import { FakeClock } from '@footbridge/testkit/fake-clock';
import { hasPostgres, startPostgres } from '@footbridge/testkit/servers/postgres';
import { until } from '@footbridge/testkit/until';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { openDatabase } from '../../platform/sql/open-database.ts';
import { createSqlGrants } from './grants-sql.ts';
import { grantsContract } from './grants.contract.ts';
import { createVault } from './vault.ts';

const ignore = () => {};

grantsContract('SQLite', async () => {
  const database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, ignore);
  return { databases: [database], close: () => database.close() };
});

describe.skipIf(!(await hasPostgres()))('with PostgreSQL', () => {
  let server: Awaited<ReturnType<typeof startPostgres>>;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  grantsContract('PostgreSQL', async () => {
    const url = await server.createDatabase();
    const first = await openDatabase({ engine: 'postgres', url }, ignore);
    const second = await openDatabase({ engine: 'postgres', url }, ignore);
    return {
      databases: [first, second],
      close: async () => {
        await first.close();
        await second.close();
      },
    };
  });

  const company = { kind: 'company', ownerId: 'comp1', companyId: 'comp1' } as const;
  const location = { kind: 'location', ownerId: 'loc1', companyId: 'comp1' } as const;
  const tokens = { accessToken: 'access', refreshToken: 'refresh', expiresAt: 2_000_000_000_000 };

  async function open() {
    const url = await server.createDatabase();
    const database = await openDatabase({ engine: 'postgres', url }, ignore);
    onTestFinished(() => database.close());
    const clock = new FakeClock();
    const grants = createSqlGrants({ database, clock, vault: createVault([randomBytes(32)]) });
    const waiting = (count: number) =>
      until(async () => {
        const { rows } = await sql`
          SELECT pid FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock'`.execute(database.db);
        return rows.length === count;
      });
    return { grants, clock, waiting };
  }

  it('E3 a location of a company can be expected while the company is uninstalled, without a deadlock', async () => {
    const { grants, waiting } = await open();
    await grants.store({ ...company, ...tokens, issuedAt: 1000 });
    await grants.store({ ...location, ...tokens, issuedAt: 1000, isDerived: true });
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const refreshing = grants.exclusively('company', 'comp1', () => held);
    const uninstalled = grants.uninstall({ ...company, at: 2000 });
    await waiting(1);
    const expected = grants.expect({ ...location, at: 3000 });
    await waiting(2);
    release();
    await refreshing;
    const results = await Promise.allSettled([uninstalled, expected]);
    expect(results).toMatchObject([
      { status: 'fulfilled', value: ['comp1', 'loc1'] },
      { status: 'fulfilled', value: { state: 'expected' } },
    ]);
  });

  it.each(['before', 'after'])(
    'E2 a location that is announced %s its refusal is recorded stays expected',
    async (when) => {
      const { grants, clock, waiting } = await open();
      await grants.store({ ...company, ...tokens, issuedAt: 1000 });
      await grants.expect({ ...location, at: 1000 });
      await clock.advance(1);
      const refusal = { ownerId: 'loc1', companyId: 'comp1', requestedAt: clock.now() };
      await grants.refuse({ ...refusal, firstUntil: 0 });
      await clock.advance(1);
      const announce = () => grants.expect({ ...location, at: 2000 });
      const refuse = () => grants.refuse({ ...refusal, firstUntil: refusal.requestedAt });
      const { promise: held, resolve: release } = Promise.withResolvers<void>();
      const requesting = grants.exclusively('location', 'loc1', () => held);
      const [first, second] = when === 'before' ? [announce, refuse] : [refuse, announce];
      const recorded: Promise<unknown>[] = [first()];
      await waiting(1);
      recorded.push(second());
      await waiting(2);
      release();
      await Promise.all([requesting, ...recorded]);
      expect(await grants.find('location', 'loc1')).toMatchObject({ state: 'expected' });
    },
  );
});
