import { FakeClock } from '@footbridge/testkit/fake-clock';
import { expect, it } from 'vitest';

import { onBothDatabases } from '../../platform/sql/on-both-databases.fixture.ts';
import { reachFields } from './reach-fields-sql.ts';

const ANNA = '+14155550100';
const BERT = '+14155550111';

/** Hashes by these keys. */
const hashedAs = (...keys: string[]) => ({
  handle: (handle: string) => keys.map((key) => `${key} ${handle}`),
});

onBothDatabases('the recorded reach', (open) => {
  it('the last value of each person and location is kept', async () => {
    const { db } = await open();
    const clock = new FakeClock();
    const fields = reachFields({ db, clock, hashes: hashedAs('new') });
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
  });

  it('a value that was written under a former key is replaced', async () => {
    const { db } = await open();
    const deps = { db, clock: new FakeClock() };
    const before = reachFields({ ...deps, hashes: hashedAs('old') });
    const after = reachFields({ ...deps, hashes: hashedAs('new', 'old') });
    await before.set('loc1', ANNA, { fieldId: 'f1', reach: 'SMS' });
    expect(await after.get('loc1', ANNA)).toEqual({ fieldId: 'f1', reach: 'SMS' });
    await after.set('loc1', ANNA, { fieldId: 'f1', reach: 'iMessage' });
    expect(await after.list(ANNA)).toMatchObject([{ reach: 'iMessage' }]);
  });

  it('one person is erased in the given locations, or in all', async () => {
    const { db } = await open();
    const fields = reachFields({ db, clock: new FakeClock(), hashes: hashedAs('new') });
    for (const locationId of ['loc1', 'loc2', 'loc3'])
      for (const handle of [ANNA, BERT])
        await fields.set(locationId, handle, { fieldId: 'f1', reach: 'SMS' });
    await fields.erase(ANNA, []);
    await fields.erase(ANNA, ['loc2']);
    expect((await fields.list(ANNA)).map(({ locationId }) => locationId)).toEqual(['loc1', 'loc3']);
    await fields.erase(ANNA);
    expect(await fields.list(ANNA)).toEqual([]);
    expect(await fields.list(BERT)).toHaveLength(3);
  });
});
