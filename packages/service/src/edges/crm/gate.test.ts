import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { FakeClock } from '../../fake-clock.ts';
import { Gate, Gates } from './gate.ts';

function openCircuit(gate: Gate): void {
  for (let failures = 0; failures < 20; failures++) gate.failed();
}

describe('the limit of a location', () => {
  it('never lets more than the limit through in any ten seconds, and holds nobody up longer than that takes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(3000), { maxLength: 60 }), async (gaps) => {
        const clock = new FakeClock();
        const gate = new Gate(clock, 5);
        const times: number[] = [];
        for (const gap of gaps) {
          await clock.advance(gap);
          if (gate.tryEnter()) times.push(clock.monotonic());
          else gate.enqueue(() => times.push(clock.monotonic()));
        }
        await clock.advance(10_000 * (gaps.length / 5 + 1));
        expect(times).toHaveLength(gaps.length);
        expect(times).toEqual(times.toSorted((left, right) => left - right));
        times.forEach((time, index) => {
          const fifthNext = times[index + 5];
          if (fifthNext !== undefined) expect(fifthNext - time).toBeGreaterThanOrEqual(10_000);
        });
      }),
      { numRuns: 30 },
    );
  });

  it('lets go in the order of coming, and who leaves the line takes no place', async () => {
    const clock = new FakeClock();
    const gate = new Gate(clock, 1);
    const went: string[] = [];
    expect(gate.tryEnter()).toBe(true);
    gate.enqueue(() => went.push('first'));
    const leave = gate.enqueue(() => went.push('second'));
    gate.enqueue(() => went.push('third'));
    leave();
    await clock.advance(10_000);
    expect(went).toEqual(['first']);
    await clock.advance(10_000);
    expect(went).toEqual(['first', 'third']);
  });

  it('keeps a tenth for urgent calls, which go first', async () => {
    const clock = new FakeClock();
    const gate = new Gate(clock, 10);
    const went: string[] = [];
    for (let calls = 0; calls < 9; calls++) expect(gate.tryEnter()).toBe(true);
    expect(gate.tryEnter()).toBe(false);
    await clock.advance(1000);
    gate.enqueue(() => went.push('ordinary'));
    expect(gate.tryEnter(true)).toBe(true);
    expect(gate.tryEnter(true)).toBe(false);
    gate.enqueue(() => went.push('urgent'), true);
    await clock.advance(8999);
    expect(went).toEqual([]);
    await clock.advance(1);
    expect(went).toEqual(['urgent', 'ordinary']);
  });

  it('an urgent call does not wait for the turn of an ordinary one', async () => {
    const clock = new FakeClock();
    const gate = new Gate(clock, 20);
    const went: string[] = [];
    for (let calls = 0; calls < 2; calls++) expect(gate.tryEnter(true)).toBe(true);
    await clock.advance(5000);
    for (let calls = 0; calls < 16; calls++) expect(gate.tryEnter()).toBe(true);
    for (let calls = 0; calls < 2; calls++) expect(gate.tryEnter(true)).toBe(true);
    gate.enqueue(() => went.push('ordinary'));
    gate.enqueue(() => went.push('urgent'), true);
    await clock.advance(5000);
    expect(went).toEqual(['urgent']);
    await clock.advance(5000);
    expect(went).toEqual(['urgent', 'ordinary']);
  });

  it('waits as long as the CRM asked', async () => {
    const clock = new FakeClock();
    const gate = new Gate(clock, 90);
    gate.pause(3000);
    expect(gate.tryEnter()).toBe(false);
    await clock.advance(3000);
    expect(gate.tryEnter()).toBe(true);
  });
});

describe('the circuit of a location', () => {
  it('opens after twenty failures in a row', () => {
    const gate = new Gate(new FakeClock(), 90);
    for (let failures = 0; failures < 19; failures++) gate.failed();
    expect(gate.blockedMs()).toBe(0);
    gate.succeeded();
    for (let failures = 0; failures < 19; failures++) gate.failed();
    expect(gate.blockedMs()).toBe(0);
    gate.failed();
    expect(gate.blockedMs()).toBe(10_000);
  });

  it('lets one probe through after the pause, and closes when it succeeds', async () => {
    const clock = new FakeClock();
    const gate = new Gate(clock, 90);
    openCircuit(gate);
    await clock.advance(10_000);
    expect(gate.blockedMs()).toBe(0);
    gate.begin();
    expect(gate.blockedMs()).toBeGreaterThan(0);
    gate.succeeded();
    expect(gate.blockedMs()).toBe(0);
    gate.failed();
    expect(gate.blockedMs()).toBe(0);
  });

  it('pauses longer after every failed probe, up to a minute', async () => {
    const clock = new FakeClock();
    const gate = new Gate(clock, 90);
    openCircuit(gate);
    const pauses: number[] = [];
    for (let probes = 0; probes < 5; probes++) {
      pauses.push(gate.blockedMs());
      await clock.advance(gate.blockedMs());
      gate.begin();
      gate.failed();
    }
    expect(pauses).toEqual([10_000, 20_000, 40_000, 60_000, 60_000]);
  });

  it('any answer of the CRM closes it', async () => {
    const clock = new FakeClock();
    const gate = new Gate(clock, 90);
    openCircuit(gate);
    await clock.advance(10_000);
    gate.begin();
    gate.answered();
    expect(gate.isOpen).toBe(false);
    expect(gate.lastSuccess).toBe(Number.NEGATIVE_INFINITY);
  });
});

describe('gates', () => {
  it('are one per location, and forgotten when idle', async () => {
    const clock = new FakeClock();
    const gates = new Gates(clock, 90);
    const first = gates.of('first');
    first.tryEnter();
    const failing = gates.of('failing');
    failing.failed();
    expect(gates.of('first')).toBe(first);
    await clock.advance(120_000);
    for (let index = 0; index < 10_000; index++) gates.of(`location ${index}`).tryEnter();
    expect(gates.of('first')).not.toBe(first);
    expect(gates.of('failing')).toBe(failing);
  });
});
