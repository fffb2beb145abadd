import { FakeClock } from '@footbridge/testkit/fake-clock';
import { hasPostgres, startPostgres } from '@footbridge/testkit/servers/postgres';
import type { Postgres } from '@footbridge/testkit/servers/postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { EngineError } from '../errors.ts';
import { openDatabase } from '../sql/open-database.ts';
import type { OpenDatabase } from '../sql/open-database.ts';
import { createSqlAudit } from './audit-sql.ts';

function auditContract(name: string, open: () => Promise<OpenDatabase>): void {
  describe(`audit: ${name}`, () => {
    it('M8 lists entries newest first, page by page, also within one millisecond', async () => {
      const database = await open();
      const clock = new FakeClock();
      const audit = createSqlAudit({ db: database.db, clock });
      for (let index = 0; index < 25; index++)
        await audit.record({
          actor: 'operator',
          name: 'Front office',
          action: 'license.changed',
          target: `lic_${index}`,
          detail: { index },
        });
      await audit.record({ actor: 'mac', name: null, action: 'device.activated', target: 'dev_1' });
      const seen = [];
      for (let before: string | undefined; ;) {
        const page = await audit.list({ limit: 10, ...(before !== undefined && { before }) });
        if (page.length === 0) break;
        seen.push(...page);
        before = page.at(-1)?.id;
      }
      expect(seen.map(({ target }) => target)).toEqual([
        'dev_1',
        ...Array.from({ length: 25 }, (_, index) => `lic_${24 - index}`),
      ]);
      expect(seen[0]).toEqual({
        id: expect.any(String),
        at: clock.now(),
        actor: 'mac',
        name: null,
        action: 'device.activated',
        target: 'dev_1',
      });
      expect(seen[1]).toMatchObject({ actor: 'operator', name: 'Front office', detail: { index: 24 } });
      await database.close();
      await expect(
        audit.record({ actor: 'mac', name: null, action: 'x', target: 'y' }),
      ).rejects.toBeInstanceOf(EngineError);
    });
  });
}

auditContract('SQLite', () => openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {}));

describe.skipIf(!(await hasPostgres()))('with PostgreSQL', () => {
  let server: Postgres;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());
  auditContract('PostgreSQL', async () =>
    openDatabase({ engine: 'postgres', url: await server.createDatabase() }, () => {}),
  );
});
