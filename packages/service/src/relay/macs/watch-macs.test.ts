import { FakeClock } from '@footbridge/testkit/fake-clock';
import * as fc from 'fast-check';
import { describe, expect, it, beforeEach } from 'vitest';

import { HeartbeatWheel, PROBE_MS, SilentMacs, UNCONFIRMED_MS, SlowReaders } from './watch-macs.ts';
import type { Beating } from './watch-macs.ts';

class Member implements Beating {
  slot = 0;
  readonly beats: number[] = [];
  readonly judged: number[] = [];
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  beat(): void {
    this.beats.push(this.#now());
  }

  checkPong(): void {
    this.judged.push(this.#now());
  }
}

function spin(intervalMs: number, count: number, rounds: number) {
  const wheel = new HeartbeatWheel<Member>(intervalMs);
  let now = 0;
  const members = Array.from({ length: count }, () => new Member(() => now));
  for (const member of members) wheel.add(member);
  const perTurn: number[] = [];
  for (; now < rounds * intervalMs - 1e-6; now += wheel.tickMs) {
    const before = members.reduce((sum, { beats }) => sum + beats.length, 0);
    wheel.turn();
    perTurn.push(members.reduce((sum, { beats }) => sum + beats.length, 0) - before);
  }
  return { wheel, members, perTurn };
}

describe('heartbeat wheel', () => {
  it('M1 pings every member once per interval and checks its pong a third of an interval later', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 600, max: 60_000 }),
        fc.integer({ min: 1, max: 40 }),
        (interval, count) => {
          const { members, wheel } = spin(interval, count, 4);
          for (const { beats, judged } of members) {
            expect(beats).toHaveLength(4);
            for (const [index, beat] of beats.slice(1).entries())
              expect(beat - (beats[index] ?? 0)).toBeCloseTo(interval, 3);
            const late = judged.find((at) => at > (beats[0] ?? 0)) ?? 0;
            expect(late - (beats[0] ?? 0)).toBeGreaterThan(interval / 6);
            expect(late - (beats[0] ?? 0)).toBeLessThan(interval / 2 + wheel.tickMs);
          }
        },
      ),
      { numRuns: 50 },
    );
  });

  it('M1 spreads ten thousand pings evenly over the interval', () => {
    const { perTurn } = spin(15_000, 10_000, 2);
    expect(perTurn).toHaveLength(300);
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(67);
  });

  it('M1 stops pinging a member that leaves, also in the middle of a tick', () => {
    const wheel = new HeartbeatWheel<Member>(600);
    const leaver = new (class extends Member {
      override beat(): void {
        super.beat();
        wheel.delete(this);
        wheel.delete(this);
      }
    })(() => 0);
    const other = new Member(() => 0);
    wheel.add(leaver);
    wheel.add(other);
    expect([...wheel]).toHaveLength(2);
    for (let turn = 0; turn < 20; turn++) wheel.turn();
    expect([leaver.beats.length, wheel.size, [...wheel]]).toEqual([1, 1, [other]]);
    expect(other.beats.length).toBeGreaterThan(2);
  });
});

class TestMac {
  signsOfLife = 0;
  hasUnconfirmed = true;
  readonly calls: string[] = [];

  probe(): void {
    this.calls.push('probe');
  }

  silent(): void {
    this.calls.push('silent');
  }
}

describe('Macs that do not confirm', () => {
  let mac: TestMac;
  let macs: SilentMacs<TestMac>;
  let now: number;
  /** Its timers never run: the tests say when to check, also late as after a stall. */
  const clock = { monotonic: () => now, after: () => () => {} };
  const check = (...times: number[]) => {
    for (now of times) macs.check();
  };
  beforeEach(() => {
    now = 0;
    mac = new TestMac();
    macs = new SilentMacs(clock);
    macs.watch(mac);
  });

  it('M10 a silent Mac is pinged, and disconnected when it does not respond', () => {
    check(UNCONFIRMED_MS - 1);
    expect(mac.calls).toEqual([]);
    check(UNCONFIRMED_MS);
    expect(mac.calls).toEqual(['probe']);
    check(UNCONFIRMED_MS + PROBE_MS - 1);
    expect(mac.calls).toEqual(['probe']);
    check(UNCONFIRMED_MS + PROBE_MS, UNCONFIRMED_MS + PROBE_MS + 100);
    expect(mac.calls).toEqual(['probe', 'silent']);
    check(UNCONFIRMED_MS + PROBE_MS + 200);
    expect(mac.calls).toEqual(['probe', 'silent']);
  });

  it('M10 Macs are checked by a timer until it is stopped', async () => {
    const timer = new FakeClock();
    const watched = new SilentMacs<TestMac>(timer);
    watched.watch(mac);
    await timer.advance(UNCONFIRMED_MS + 500);
    expect(mac.calls).toEqual(['probe']);
    watched.stop();
    await timer.advance(2 * PROBE_MS);
    expect(mac.calls).toEqual(['probe']);
  });

  it('M10 a Mac stays as long as it shows any sign of life', () => {
    for (let time = 0; time < 60_000; time += UNCONFIRMED_MS) {
      mac.signsOfLife++;
      check(time, time + UNCONFIRMED_MS - 1);
    }
    expect(mac.calls).toEqual([]);
  });

  it('M10 a Mac is no longer watched once it has confirmed everything', () => {
    mac.hasUnconfirmed = false;
    check(100);
    mac.hasUnconfirmed = true;
    check(60_000, 120_000);
    expect(mac.calls).toEqual([]);
  });

  it('M10 a Mac has time to answer after the service itself was stalled', () => {
    check(60_000, 60_100, 60_200);
    expect(mac.calls).toEqual(['probe']);
    check(120_000);
    mac.signsOfLife++;
    check(120_100);
    expect(mac.calls).toEqual(['probe']);
  });
});

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
