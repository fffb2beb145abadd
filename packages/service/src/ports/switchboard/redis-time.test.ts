import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { RedisTime } from './redis-time.ts';

/** Two clocks: ours starts at 0, Redis's `ahead` of it. */
function world(ahead: number) {
  let now = 0;
  const time = new RedisTime(() => now);
  return {
    time,
    redisNow: () => now + ahead,
    pass: (ms: number) => void (now += ms),
    /** A question that takes `there` ms to Redis and whose answer is read `back` ms later. */
    ask: (there: number, back: number) => {
      const askedAt = now;
      now += there;
      const millis = now + ahead;
      now += back;
      time.told(millis, askedAt);
    },
    setRedisClock: (to: number) => void (ahead = to),
  };
}

const ms = fc.integer({ min: 0, max: 5000 });

describe("Redis's time", () => {
  it('is never earlier or later than the bounds say, however long questions and answers take', () => {
    fc.assert(
      fc.property(fc.integer(), fc.array(fc.tuple(ms, ms, ms), { minLength: 1 }), (ahead, asked) => {
        const { time, redisNow, pass, ask } = world(ahead);
        for (const [there, back, rest] of asked) {
          ask(there, back);
          pass(rest);
          expect(time.earliest()).toBeLessThanOrEqual(redisNow());
          expect(time.latest()).toBeGreaterThanOrEqual(redisNow());
        }
      }),
    );
  });

  it('an answer that lay unread for seconds does not make a node think it is early', () => {
    const { time, redisNow, ask } = world(1_000_000);
    ask(1, 1);
    ask(1, 5000);
    expect(time.latest() - redisNow()).toBeLessThan(10);
    expect(redisNow() - time.earliest()).toBeLessThan(10);
  });

  it('a clock that is set is followed with the next answer', () => {
    for (const step of [-3_600_000, 3_600_000]) {
      const { time, redisNow, ask, setRedisClock } = world(0);
      ask(1, 1);
      setRedisClock(step);
      ask(2, 2);
      expect(Math.abs(time.latest() - redisNow())).toBeLessThan(5);
      expect(Math.abs(time.earliest() - redisNow())).toBeLessThan(5);
    }
  });
});
