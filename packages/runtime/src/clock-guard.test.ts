import { FakeClock } from '@footbridge/testkit/fake-clock';
import { expect, it } from 'vitest';

import { ClockGuard, daysOff } from './clock-guard.ts';
import type { ClockVerdict } from './clock-guard.ts';

const DAY = 86_400_000;
const HOUR = 3_600_000;

function start({ newest = 0 }: { newest?: number | null } = {}) {
  const clock = new FakeClock();
  const began = clock.now();
  const changes: (string | undefined)[] = [];
  const seen = {
    /** How far the other machine is behind this one; undefined: it does not respond. */
    behind: undefined as number | undefined,
    newest: newest === null ? null : began + newest,
    asked: 0,
    tookMs: 0,
  };
  const guard = new ClockGuard({
    clock,
    witnesses: {
      async ask() {
        seen.asked++;
        const said = clock.now() - (seen.behind ?? 0);
        if (seen.tookMs > 0) await clock.advance(seen.tookMs);
        return seen.behind === undefined ? undefined : said;
      },
      newestRow: () => seen.newest,
    },
    changed: (verdict: ClockVerdict) => changes.push(verdict.agrees ? undefined : verdict.because),
  });
  /** Resolves with the verdict an hour later. */
  const next = async (wait = HOUR) => {
    await clock.advance(wait);
    return await guard.mayDelete();
  };
  return { clock, guard, seen, changes, next };
}

it('T67 believes another machine, whatever the rows say', async () => {
  const { guard, seen, changes, next } = start({ newest: -200 * DAY });
  seen.behind = 0;
  // Off for months.
  expect(await next()).toBe(true);
  seen.behind = 100 * DAY;
  seen.newest = null;
  expect(await next()).toBe(false);
  expect(guard.verdict).toEqual({ agrees: false, because: 'other_machine', aheadMs: 100 * DAY });
  seen.behind = -2 * DAY;
  expect(await next()).toBe(false);
  seen.behind = DAY - 1;
  expect(await next()).toBe(true);
  expect(changes).toEqual(['other_machine', undefined]);
});

it('T67 without another machine, believes the clock while the newest row is of the last day', async () => {
  const { clock, seen, changes, next } = start({ newest: -100 * DAY });
  expect(await next()).toBe(false);
  // A new message arrives.
  seen.newest = clock.now();
  expect(await next()).toBe(true);
  seen.newest = clock.now() + 2 * DAY;
  expect(await next()).toBe(false);
  seen.newest = null;
  expect(await next()).toBe(true);
  expect(changes).toEqual(['old_rows', undefined, 'old_rows', undefined]);
});

it('T67 does not believe rows that were written after the clock jumped', async () => {
  const { clock, seen, changes, next } = start();
  expect(await next()).toBe(true);
  clock.advanceWallClock(90 * DAY);
  seen.newest = clock.now();
  expect(await next(0)).toBe(false);
  expect(await next()).toBe(false);
  seen.behind = 0;
  expect(await next()).toBe(true);
  seen.behind = undefined;
  expect(await next()).toBe(true);
  clock.advanceWallClock(-90 * DAY);
  expect(await next(0)).toBe(false);
  expect(changes).toEqual(['step', undefined, 'step']);
});

it('T67 asks once for all that delete at the same time, and again after ten minutes', async () => {
  const { guard, seen, next } = start();
  seen.behind = 0;
  expect(await Promise.all([1, 2, 3].map(() => guard.mayDelete()))).toEqual([true, true, true]);
  expect(await next(599_999)).toBe(true);
  expect(seen.asked).toBe(1);
  await next(1);
  expect(seen.asked).toBe(2);
});

it('T67 ignores the time of a response that was long under way', async () => {
  const { seen, next } = start();
  seen.behind = 100 * DAY;
  seen.tookMs = 60_001;
  expect(await next()).toBe(true);
  seen.tookMs = 60_000;
  expect(await next()).toBe(false);
});

it('T67 says in days how wrong the clock is', () => {
  expect([daysOff(DAY + 1), daysOff(-200 * DAY)]).toEqual(['1 day ahead', '200 days behind']);
});
