import type { FakeClock } from '@footbridge/testkit/fake-clock';
import { expect, it } from 'vitest';

import type { SeenRequests } from './seen-requests.ts';

export function seenRequestsContract(
  name: string,
  /** Keeps at most two hashes. */
  open: () => Promise<{ seen: SeenRequests; clock: FakeClock; close: () => Promise<void> }>,
): void {
  it(`seen requests: ${name}: T66 has a hash until it expires, and keeps those that expire last`, async () => {
    const { seen, clock, close } = await open();
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
    await close();
  });
}
