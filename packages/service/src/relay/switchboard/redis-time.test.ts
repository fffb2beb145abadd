import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { RedisTime } from './redis-time.ts';

/** Two clocks: the local one starts at 0, Redis's is `ahead` of it. */
function twoClocks(ahead: number) {
  let now = 0;
  const time = new RedisTime(() => now);
  return {
    time,
    redisNow: () => now + ahead,
    pass: (ms: number) => void (now += ms),
    /** A command that takes `there` ms to Redis and whose response is read `back` ms later. */
    roundTrip: (there: number, back: number) => {
      const sentAt = now;
      now += there;
      const millis = now + ahead;
      now += back;
      return time.observe(millis, sentAt);
    },
    setRedisClock: (to: number) => void (ahead = to),
  };
}

const ms = fc.integer({ min: 0, max: 5000 });

describe('RedisTime', () => {
  it('keeps the real time within its bounds, however slow the round trips are', () => {
    fc.assert(
      fc.property(fc.integer(), fc.array(fc.tuple(ms, ms, ms), { minLength: 1 }), (ahead, roundTrips) => {
        const { time, redisNow, pass, roundTrip } = twoClocks(ahead);
        for (const [there, back, rest] of roundTrips) {
          expect(roundTrip(there, back)).toBe(0);
          pass(rest);
          expect(time.earliest()).toBeLessThanOrEqual(redisNow());
          expect(time.latest()).toBeGreaterThanOrEqual(redisNow());
        }
      }),
    );
  });

  it('keeps tight bounds when a response is read seconds late', () => {
    const { time, redisNow, roundTrip } = twoClocks(1_000_000);
    roundTrip(1, 1);
    roundTrip(1, 5000);
    expect(time.latest() - redisNow()).toBeLessThan(10);
    expect(redisNow() - time.earliest()).toBeLessThan(10);
  });

  it('follows a clock that was set with the next response', () => {
    for (const step of [-3_600_000, 3_600_000]) {
      const { time, redisNow, roundTrip, setRedisClock } = twoClocks(0);
      roundTrip(1, 1);
      setRedisClock(step);
      const forward = roundTrip(2, 2);
      expect(Math.abs(forward - Math.max(0, step))).toBeLessThan(5);
      expect(Math.abs(time.latest() - redisNow())).toBeLessThan(5);
      expect(Math.abs(time.earliest() - redisNow())).toBeLessThan(5);
    }
  });
});
