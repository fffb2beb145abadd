import type { FakeClock } from '@footbridge/testkit/fake-clock';
import { expect, it } from 'vitest';

import type { Captures } from './captures.ts';

export function capturesContract(
  name: string,
  open: () => Promise<{ captures: Captures; clock: FakeClock; close: () => Promise<void> }>,
): void {
  it(`captures: ${name}: lists a capture until it is removed or ends`, async () => {
    const { captures, clock, close } = await open();
    const until = clock.now() + 1000;
    await captures.set({ locationId: 'loc1', until: until - 500 });
    await captures.set({ locationId: 'loc1', until });
    await captures.set({ locationId: 'loc2', until: until + 1000 });
    const locations = async () => (await captures.list()).map(({ locationId }) => locationId).toSorted();
    expect(await captures.list()).toContainEqual({ locationId: 'loc1', until });
    expect(await locations()).toEqual(['loc1', 'loc2']);
    await clock.advance(1000);
    expect(await locations()).toEqual(['loc2']);
    expect(await captures.remove('loc1')).toBe(false);
    expect(await captures.remove('loc2')).toBe(true);
    expect(await locations()).toEqual([]);
    await close();
  });
}
