import { FakeClock } from '@footbridge/testkit/fake-clock';
import { expect, it } from 'vitest';

import { EngineError } from '../errors.ts';
import { onBothDatabases } from '../sql/on-both-databases.fixture.ts';
import { createAudit } from './audit-sql.ts';

onBothDatabases('the audit log', (open) => {
  it('M8 the audit log lists entries newest first, page by page, also within one millisecond', async () => {
    const database = await open();
    const clock = new FakeClock();
    const audit = createAudit({ db: database.db, clock });
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
    await expect(audit.record({ actor: 'mac', name: null, action: 'x', target: 'y' })).rejects.toBeInstanceOf(
      EngineError,
    );
  });
});
