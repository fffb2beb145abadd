import { FakeClock } from '@footbridge/testkit/fake-clock';
import { expect, it } from 'vitest';

import { onBothDatabases } from '../../platform/sql/on-both-databases.fixture.ts';
import { seenRequests } from './seen-requests-sql.ts';

onBothDatabases('signed requests', (open) => {
  it('T66 a hash is known until it expires, and those that expire last are kept', async () => {
    const clock = new FakeClock();
    const seen = seenRequests({ db: (await open()).db, clock }, 2);
    const known = async () => {
      const all = await Promise.all(
        ['a', 'b', 'c'].map(async (hash) => ((await seen.has(hash)) ? hash : '')),
      );
      return all.join('');
    };
    const at = clock.now();
    await seen.add('a', at + 1000);
    await seen.add('b', at + 500);
    await seen.add('b', at + 2000);
    await clock.advance(1000);
    expect(await known()).toBe('b');
    await seen.add('a', at + 3000);
    await seen.add('c', at + 4000);
    await seen.prune();
    expect(await known()).toBe('ac');
    await clock.advance(3000);
    await seen.prune();
    expect(await known()).toBe('');
  });
});
