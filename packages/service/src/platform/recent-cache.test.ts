import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { RecentCache } from './recent-cache.ts';

describe('RecentCache', () => {
  it('returns the last value of a key, also null, and undefined after a delete', () => {
    const cache = new RecentCache<string, number | null>(2);
    cache.set('a', 1);
    cache.set('b', 2);
    cache.set('a', null);
    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([null, 2, undefined]);
    cache.delete('a');
    cache.delete('b');
    expect([cache.get('a'), cache.get('b')]).toEqual([undefined, undefined]);
  });

  it('keeps the last generation of entries, and at most twice as many', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.nat(200), (perGeneration, count) => {
        const cache = new RecentCache<number, number>(perGeneration);
        for (let key = 0; key < count; key++) cache.set(key, key);
        const kept = Array.from({ length: count }, (_, key) => key).filter((key) => cache.get(key) === key);
        expect(kept.length).toBeGreaterThanOrEqual(Math.min(count, perGeneration));
        expect(kept.length).toBeLessThan(2 * perGeneration);
        expect(kept).toEqual(Array.from({ length: kept.length }, (_, index) => count - kept.length + index));
      }),
    );
  });
});
