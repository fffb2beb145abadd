import { describe, expect, it } from 'vitest';

import { SlowReaders } from './slow-readers.ts';

const reader = (unsent: number) => ({
  unsent,
  flushed: 0,
  cut: 0,
  tooSlow() {
    this.cut++;
  },
});

describe('slow readers', () => {
  it('M1 reports a socket without progress for ten seconds, once', () => {
    const slow = new SlowReaders();
    const stuck = reader(10);
    slow.watch(stuck, 0);
    for (const now of [5000, 9999]) slow.check(now);
    expect(stuck.cut).toBe(0);
    for (const now of [10_000, 30_000]) slow.check(now);
    expect(stuck.cut).toBe(1);
  });

  it('M1 keeps a socket that makes progress, and stops watching one without unsent bytes', () => {
    const slow = new SlowReaders();
    const [little, all] = [reader(10), reader(10)];
    slow.watch(little, 0);
    slow.watch(all, 0);
    slow.watch(little, 5000);
    for (let now = 9000; now < 60_000; now += 9000) {
      little.flushed++;
      all.unsent = 0;
      slow.check(now);
    }
    all.unsent = 10;
    slow.check(100_000);
    expect([little.cut, all.cut]).toEqual([1, 0]);
  });

  it('M1 forgets a socket that was removed', () => {
    const slow = new SlowReaders();
    const gone = reader(10);
    slow.watch(gone, 0);
    slow.forget(gone);
    slow.check(60_000);
    expect(gone.cut).toBe(0);
  });
});
