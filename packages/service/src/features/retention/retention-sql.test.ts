import { expect, it } from 'vitest';

import { onBothDatabases } from '../../platform/sql/on-both-databases.fixture.ts';
import { retentions } from './retention-sql.ts';

onBothDatabases('retention', (open) => {
  it('the values of a location are kept until both are cleared', async () => {
    const stored = retentions((await open()).db);
    expect(await stored.of('loc1')).toEqual({ journalDays: null, assetDays: null });
    await stored.set({ locationId: 'loc2', journalDays: null, assetDays: 1 });
    await stored.set({ locationId: 'loc1', journalDays: 7, assetDays: 3 });
    await stored.set({ locationId: 'loc1', journalDays: 7, assetDays: null });
    expect(await stored.of('loc1')).toEqual({ journalDays: 7, assetDays: null });
    expect(await stored.list()).toEqual([
      { locationId: 'loc1', journalDays: 7, assetDays: null },
      { locationId: 'loc2', journalDays: null, assetDays: 1 },
    ]);
    await stored.set({ locationId: 'loc1', journalDays: null, assetDays: null });
    expect((await stored.list()).map(({ locationId }) => locationId)).toEqual(['loc2']);
  });
});
