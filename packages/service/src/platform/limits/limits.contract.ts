import { randomUUID } from 'node:crypto';

import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { Limit, Limits } from './limits.ts';

export interface LimitsUnderTest {
  readonly limits: Limits;
  /** Advances the time that the engine sees. */
  pass(ms: number): Promise<void>;
  /** The engine's own cap on keys, if it has one. */
  readonly maxKeys?: number;
}

/** The contract of the port, for every engine. */
export function limitsContract(engine: string, open: () => Promise<LimitsUnderTest>): void {
  describe(`limits: ${engine}`, () => {
    let under: LimitsUnderTest;
    let name: string;
    const limit = (max: number, windowSec = 60): Limit => ({ name, max, windowSec });
    const take = async (of: Limit, key = 'a') => under.limits.take(of, key);

    beforeEach(async () => {
      under = await open();
      name = `test-${randomUUID()}`;
    });
    afterEach(() => under.limits.close());

    it('L1 allows exactly the limit in a window', async () => {
      const allowed: boolean[] = [];
      for (let n = 0; n < 7; n++) allowed.push((await take(limit(5))).allowed);
      expect(allowed).toEqual([true, true, true, true, true, false, false]);
    });

    it('L1 counts simultaneous requests together', async () => {
      const verdicts = await Promise.all(Array.from({ length: 40 }, () => take(limit(15))));
      expect(verdicts.filter(({ allowed }) => allowed)).toHaveLength(15);
    });

    it('L2 returns the limit, the remaining requests and the end of the window', async () => {
      const first = await take(limit(2));
      expect(first).toMatchObject({ allowed: true, limit: 2, remaining: 1 });
      expect(first.resetSec).toBeGreaterThanOrEqual(59);
      expect(first.resetSec).toBeLessThanOrEqual(60);
      await take(limit(2));
      expect(await take(limit(2))).toMatchObject({ allowed: false, limit: 2, remaining: 0 });
    });

    it('does not extend a window when requests arrive during it', async () => {
      await take(limit(2));
      await under.pass(36_000);
      await take(limit(2));
      expect((await take(limit(2))).allowed).toBe(false);
      await under.pass(36_000);
      expect(await take(limit(2))).toMatchObject({ allowed: true, remaining: 1 });
    });

    it('returns at least one second until the window ends', async () => {
      // The time of Redis passes by itself too: on a stalled machine the window is over, and the next one has to be tried.
      for (let attempt = 0; ; attempt++) {
        const since = performance.now();
        await take(limit(1, 3600), `key ${attempt}`);
        await under.pass(3_600_000 - 900);
        const { resetSec } = await take(limit(1, 3600), `key ${attempt}`);
        if (performance.now() - since < 900) return expect(resetSec).toBe(1);
      }
    });

    it('counts keys and limits separately', async () => {
      const other: Limit = { name: `${name}-other`, max: 1, windowSec: 60 };
      await take(limit(1), 'a');
      expect((await take(limit(1), 'b')).allowed).toBe(true);
      expect((await under.limits.take(other, 'a')).allowed).toBe(true);
      expect((await take(limit(1), 'a')).allowed).toBe(false);
    });

    it('does not count a peek', async () => {
      expect(await under.limits.peek(limit(1), 'a')).toMatchObject({ allowed: true, remaining: 1 });
      expect(await under.limits.peek(limit(1), 'a')).toMatchObject({ allowed: true, remaining: 1 });
      expect((await take(limit(1))).allowed).toBe(true);
      expect(await under.limits.peek(limit(1), 'a')).toMatchObject({ allowed: false, remaining: 0 });
    });

    it('accepts any string as a key', async () => {
      const keys = ['__proto__', 'constructor', 'a:b', '*', '{a}', ' ', '\u0000', '😀', 'x'.repeat(300)];
      for (const key of keys) expect((await take(limit(1), key)).allowed, key).toBe(true);
      for (const key of keys) expect((await take(limit(1), key)).allowed, key).toBe(false);
    });

    it('counts like a reference implementation', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 40 }),
          fc.integer({ min: 1, max: 8 }),
          async (keys, max) => {
            const fresh: Limit = { name: `test-${randomUUID()}`, max, windowSec: 60 };
            const counts = new Map<string, number>();
            for (const key of keys) {
              const count = (counts.get(key) ?? 0) + 1;
              counts.set(key, count);
              const verdict = await under.limits.take(fresh, key);
              expect(verdict.allowed).toBe(count <= max);
              expect(verdict.remaining).toBe(Math.max(0, max - count));
            }
          },
        ),
        { numRuns: 30 },
      );
    });

    it('bounds the number of keys in memory', async () => {
      if (under.maxKeys === undefined) return;
      await take(limit(1), 'first');
      for (let n = 0; n < under.maxKeys; n++) await take(limit(1), `made-up-${n}`);
      // The oldest key was evicted and starts a new window.
      expect((await take(limit(1), 'first')).allowed).toBe(true);
      expect((await take(limit(1), `made-up-${under.maxKeys - 1}`)).allowed).toBe(false);
    });
  });
}
