import { expect, it } from 'vitest';

import type { OpenDatabase } from '../../platform/sql/open-database.ts';
import { createSqlRetention } from './retention-sql.ts';

export function retentionContract(name: string, open: () => Promise<OpenDatabase>): void {
  it(`retention: ${name}: keeps the values of a location until both are cleared`, async () => {
    const database = await open();
    const retention = createSqlRetention(database.db);
    expect(await retention.of('loc1')).toEqual({ journalDays: null, assetDays: null });
    await retention.set({ locationId: 'loc2', journalDays: null, assetDays: 1 });
    await retention.set({ locationId: 'loc1', journalDays: 7, assetDays: 3 });
    await retention.set({ locationId: 'loc1', journalDays: 7, assetDays: null });
    expect(await retention.of('loc1')).toEqual({ journalDays: 7, assetDays: null });
    expect(await retention.list()).toEqual([
      { locationId: 'loc1', journalDays: 7, assetDays: null },
      { locationId: 'loc2', journalDays: null, assetDays: 1 },
    ]);
    await retention.set({ locationId: 'loc1', journalDays: null, assetDays: null });
    expect((await retention.list()).map(({ locationId }) => locationId)).toEqual(['loc2']);
    await database.close();
  });
}
