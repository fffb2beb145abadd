import { FakeClock } from '@footbridge/testkit/fake-clock';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { LocationThrottle, LocationThrottles } from './location-throttle.ts';

function openCircuit(throttle: LocationThrottle): void {
  for (let failures = 0; failures < 20; failures++) throttle.failed();
}

function enterAndLeave(throttle: LocationThrottle, isUrgent = false): void {
  expect(throttle.tryEnter(isUrgent)).toBe(true);
  throttle.leave();
}

describe('the rate limit of a location', () => {
  it('calls never exceed the limit as counted on arrival at the CRM, and all are sent', async () => {
    const call = fc.record({ gap: fc.nat(3000), toCrm: fc.nat(2000), back: fc.nat(2000) });
    await fc.assert(
      fc.asyncProperty(fc.array(call, { maxLength: 60 }), async (calls) => {
        const clock = new FakeClock();
        const throttle = new LocationThrottle(clock, 5);
        const sent: number[] = [];
        const arrived: number[] = [];
        const send = (toCrm: number, back: number) => {
          sent.push(clock.monotonic());
          arrived.push(clock.monotonic() + toCrm);
          clock.after(toCrm + back, () => throttle.leave());
        };
        for (const { gap, toCrm, back } of calls) {
          await clock.advance(gap);
          if (throttle.tryEnter()) send(toCrm, back);
          else void throttle.enter(false).then(() => send(toCrm, back));
        }
        await clock.advance(14_000 * (calls.length / 5 + 1));
        expect(sent).toHaveLength(calls.length);
        const inOrder = arrived.toSorted((left, right) => left - right);
        inOrder.forEach((time, index) => {
          const fifthNext = inOrder[index + 5];
          if (fifthNext !== undefined) expect(fifthNext - time).toBeGreaterThanOrEqual(10_000);
        });
      }),
      { numRuns: 30 },
    );
  });

  it('a call waits for a response when calls in flight use up the limit', async () => {
    const clock = new FakeClock();
    const throttle = new LocationThrottle(clock, 2);
    const sent: string[] = [];
    for (let calls = 0; calls < 2; calls++) expect(throttle.tryEnter()).toBe(true);
    void throttle.enter(false).then(() => sent.push('third'));
    await clock.advance(30_000);
    throttle.leave();
    await clock.advance(9_999);
    expect(sent).toEqual([]);
    await clock.advance(1);
    expect(sent).toEqual(['third']);
  });

  it('queued calls are sent in order, and a cancelled one takes no slot', async () => {
    const clock = new FakeClock();
    const throttle = new LocationThrottle(clock, 1);
    const sent: string[] = [];
    expect(throttle.tryEnter()).toBe(true);
    throttle.leave();
    const stop = new AbortController();
    const enter = (name: string, signal?: AbortSignal) =>
      throttle.enter(false, signal).then((entered) => {
        sent.push(entered ? name : `no ${name}`);
        if (entered) throttle.leave();
      });
    void enter('first');
    void enter('second', stop.signal);
    void enter('third');
    stop.abort();
    await clock.advance(10_000);
    expect(sent).toEqual(['no second', 'first']);
    await clock.advance(10_000);
    expect(sent).toEqual(['no second', 'first', 'third']);
    expect(await throttle.enter(false, stop.signal)).toBe(false);
  });

  it('a tenth of the limit is reserved for urgent calls, which go first', async () => {
    const clock = new FakeClock();
    const throttle = new LocationThrottle(clock, 10);
    const sent: string[] = [];
    for (let calls = 0; calls < 9; calls++) enterAndLeave(throttle);
    expect(throttle.tryEnter()).toBe(false);
    await clock.advance(1000);
    void throttle.enter(false).then(() => sent.push('ordinary'));
    enterAndLeave(throttle, true);
    expect(throttle.tryEnter(true)).toBe(false);
    void throttle.enter(true).then(() => sent.push('urgent'));
    await clock.advance(8999);
    expect(sent).toEqual([]);
    await clock.advance(1);
    expect(sent).toEqual(['urgent', 'ordinary']);
  });

  it('an urgent call does not wait behind an ordinary one', async () => {
    const clock = new FakeClock();
    const throttle = new LocationThrottle(clock, 20);
    const sent: string[] = [];
    for (let calls = 0; calls < 2; calls++) enterAndLeave(throttle, true);
    await clock.advance(5000);
    for (let calls = 0; calls < 16; calls++) enterAndLeave(throttle);
    for (let calls = 0; calls < 2; calls++) enterAndLeave(throttle, true);
    void throttle.enter(false).then(() => sent.push('ordinary'));
    void throttle.enter(true).then(() => sent.push('urgent'));
    await clock.advance(5000);
    expect(sent).toEqual(['urgent']);
    await clock.advance(5000);
    expect(sent).toEqual(['urgent', 'ordinary']);
  });

  it('calls wait as long as the CRM asked', async () => {
    const clock = new FakeClock();
    const throttle = new LocationThrottle(clock, 90);
    throttle.pause(3000);
    expect(throttle.tryEnter()).toBe(false);
    await clock.advance(3000);
    expect(throttle.tryEnter()).toBe(true);
  });
});

describe('the circuit breaker of a location', () => {
  it('the circuit opens after twenty failures in a row', () => {
    const throttle = new LocationThrottle(new FakeClock(), 90);
    for (let failures = 0; failures < 19; failures++) throttle.failed();
    expect(throttle.blockedMs()).toBe(0);
    throttle.succeeded();
    for (let failures = 0; failures < 19; failures++) throttle.failed();
    expect(throttle.blockedMs()).toBe(0);
    throttle.failed();
    expect(throttle.blockedMs()).toBe(10_000);
  });

  it('an open circuit lets one probe through when its time is over, and closes when the probe succeeds', async () => {
    const clock = new FakeClock();
    const throttle = new LocationThrottle(clock, 90);
    openCircuit(throttle);
    await clock.advance(10_000);
    expect(throttle.blockedMs()).toBe(0);
    throttle.begin();
    expect(throttle.blockedMs()).toBeGreaterThan(0);
    throttle.succeeded();
    expect(throttle.blockedMs()).toBe(0);
    throttle.failed();
    expect(throttle.blockedMs()).toBe(0);
  });

  it('the circuit stays open longer after every failed probe, up to a minute', async () => {
    const clock = new FakeClock();
    const throttle = new LocationThrottle(clock, 90);
    openCircuit(throttle);
    const pauses: number[] = [];
    for (let probes = 0; probes < 5; probes++) {
      pauses.push(throttle.blockedMs());
      await clock.advance(throttle.blockedMs());
      throttle.begin();
      throttle.failed();
    }
    expect(pauses).toEqual([10_000, 20_000, 40_000, 60_000, 60_000]);
  });

  it('the circuit closes on any response of the CRM', async () => {
    const clock = new FakeClock();
    const throttle = new LocationThrottle(clock, 90);
    openCircuit(throttle);
    await clock.advance(10_000);
    throttle.begin();
    throttle.answered();
    expect(throttle.isOpen).toBe(false);
    expect(throttle.lastSuccess).toBe(Number.NEGATIVE_INFINITY);
  });
});

describe('throttles', () => {
  it('a location has one throttle, which is dropped when idle', async () => {
    const clock = new FakeClock();
    const throttles = new LocationThrottles(clock, 90);
    const first = throttles.of('first');
    enterAndLeave(first);
    const failing = throttles.of('failing');
    failing.failed();
    expect(throttles.of('first')).toBe(first);
    await clock.advance(120_000);
    for (let index = 0; index < 10_000; index++) throttles.of(`location ${index}`).tryEnter();
    expect(throttles.of('first')).not.toBe(first);
    expect(throttles.of('failing')).toBe(failing);
  });
});
