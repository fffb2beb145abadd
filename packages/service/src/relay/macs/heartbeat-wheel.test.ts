import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { HeartbeatWheel } from './heartbeat-wheel.ts';
import type { Beating } from './heartbeat-wheel.ts';

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
