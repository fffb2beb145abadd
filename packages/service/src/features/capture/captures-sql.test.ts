import { FakeClock } from '@footbridge/testkit/fake-clock';
import { expect, it } from 'vitest';

import { onBothDatabases } from '../../platform/sql/on-both-databases.fixture.ts';
import { captures } from './captures-sql.ts';

onBothDatabases('captures', (open) => {
  it('a capture is listed until it is removed or ends', async () => {
    const clock = new FakeClock();
    const stored = captures({ db: (await open()).db, clock });
    const until = clock.now() + 1000;
    await stored.set({ locationId: 'loc1', until: until - 500 });
    await stored.set({ locationId: 'loc1', until });
    await stored.set({ locationId: 'loc2', until: until + 1000 });
    const locations = async () => (await stored.list()).map(({ locationId }) => locationId).toSorted();
    expect(await stored.list()).toContainEqual({ locationId: 'loc1', until });
    expect(await locations()).toEqual(['loc1', 'loc2']);
    await clock.advance(1000);
    expect(await locations()).toEqual(['loc2']);
    expect(await stored.remove('loc1')).toBe(false);
    expect(await stored.remove('loc2')).toBe(true);
    expect(await locations()).toEqual([]);
  });
});
