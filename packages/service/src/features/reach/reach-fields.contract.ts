import { FakeClock } from '@footbridge/testkit/fake-clock';
import { expect, it } from 'vitest';

import type { OpenDatabase } from '../../platform/sql/open-database.ts';
import { createSqlReachFields } from './reach-fields-sql.ts';

const ANNA = '+14155550100';
const BERT = '+14155550111';

export function reachFieldsContract(name: string, open: () => Promise<OpenDatabase>): void {
  it(`reach fields: ${name}: keep the last value of each person and location`, async () => {
    const database = await open();
    const clock = new FakeClock();
    const fields = createSqlReachFields({ db: database.db, clock, hashes: (handle) => [`new ${handle}`] });
    expect(await fields.get('loc1', ANNA)).toBeUndefined();
    await fields.set('loc1', ANNA, { fieldId: 'f1', reach: 'unknown' });
    await fields.set('loc1', ANNA, { fieldId: 'f2', reach: 'iMessage' });
    await fields.set('loc2', ANNA, { fieldId: 'f1', reach: 'SMS' });
    expect(await fields.get('loc1', ANNA)).toEqual({ fieldId: 'f2', reach: 'iMessage' });
    expect(await fields.get('loc1', BERT)).toBeUndefined();
    expect(await fields.list(ANNA)).toEqual([
      { locationId: 'loc1', fieldId: 'f2', reach: 'iMessage', since: clock.now() },
      { locationId: 'loc2', fieldId: 'f1', reach: 'SMS', since: clock.now() },
    ]);
    expect(await fields.list(ANNA, [])).toEqual([]);
    await database.close();
  });

  it(`reach fields: ${name}: replace a value that was written under a former key`, async () => {
    const database = await open();
    const deps = { db: database.db, clock: new FakeClock() };
    const before = createSqlReachFields({ ...deps, hashes: (handle) => [`old ${handle}`] });
    const after = createSqlReachFields({ ...deps, hashes: (handle) => [`new ${handle}`, `old ${handle}`] });
    await before.set('loc1', ANNA, { fieldId: 'f1', reach: 'SMS' });
    expect(await after.get('loc1', ANNA)).toEqual({ fieldId: 'f1', reach: 'SMS' });
    await after.set('loc1', ANNA, { fieldId: 'f1', reach: 'iMessage' });
    expect(await after.list(ANNA)).toMatchObject([{ reach: 'iMessage' }]);
    await database.close();
  });

  it(`reach fields: ${name}: erase one person in the given locations, or in all`, async () => {
    const database = await open();
    const fields = createSqlReachFields({
      db: database.db,
      clock: new FakeClock(),
      hashes: (handle) => [handle],
    });
    for (const locationId of ['loc1', 'loc2', 'loc3'])
      for (const handle of [ANNA, BERT])
        await fields.set(locationId, handle, { fieldId: 'f1', reach: 'SMS' });
    await fields.erase(ANNA, []);
    await fields.erase(ANNA, ['loc2']);
    expect((await fields.list(ANNA)).map(({ locationId }) => locationId)).toEqual(['loc1', 'loc3']);
    await fields.erase(ANNA);
    expect(await fields.list(ANNA)).toEqual([]);
    expect(await fields.list(BERT)).toHaveLength(3);
    await database.close();
  });
}
