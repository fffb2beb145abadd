import { FakeClock } from '@footbridge/testkit/fake-clock';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { LocationThrottle, LocationThrottles } from './location-throttle.ts';

function openCircuit(throttle: LocationThrottle): void {
  for (let failures = 0; failures < 20; failures++) throttle.failed();
}

describe('the rate limit of a location', () => {
  it('never exceeds the limit in any ten seconds, and delays no call longer than that requires', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(3000), { maxLength: 60 }), async (gaps) => {
        const clock = new FakeClock();
        const throttle = new LocationThrottle(clock, 5);
        const times: number[] = [];
        for (const gap of gaps) {
          await clock.advance(gap);
          if (throttle.tryEnter()) times.push(clock.monotonic());
          else void throttle.enter(false).then(() => times.push(clock.monotonic()));
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

  it('serves the queue in order, and a cancelled call takes no slot', async () => {
    const clock = new FakeClock();
    const throttle = new LocationThrottle(clock, 1);
    const sent: string[] = [];
    expect(throttle.tryEnter()).toBe(true);
    const stop = new AbortController();
    const enter = (name: string, signal?: AbortSignal) =>
      throttle.enter(false, signal).then((entered) => sent.push(entered ? name : `no ${name}`));
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

  it('reserves a tenth for urgent calls, which go first', async () => {
    const clock = new FakeClock();
    const throttle = new LocationThrottle(clock, 10);
    const sent: string[] = [];
    for (let calls = 0; calls < 9; calls++) expect(throttle.tryEnter()).toBe(true);
    expect(throttle.tryEnter()).toBe(false);
    await clock.advance(1000);
    void throttle.enter(false).then(() => sent.push('ordinary'));
    expect(throttle.tryEnter(true)).toBe(true);
    expect(throttle.tryEnter(true)).toBe(false);
    void throttle.enter(true).then(() => sent.push('urgent'));
    await clock.advance(8999);
    expect(sent).toEqual([]);
    await clock.advance(1);
    expect(sent).toEqual(['urgent', 'ordinary']);
  });

  it('does not let an urgent call wait behind an ordinary one', async () => {
    const clock = new FakeClock();
    const throttle = new LocationThrottle(clock, 20);
    const sent: string[] = [];
    for (let calls = 0; calls < 2; calls++) expect(throttle.tryEnter(true)).toBe(true);
    await clock.advance(5000);
    for (let calls = 0; calls < 16; calls++) expect(throttle.tryEnter()).toBe(true);
    for (let calls = 0; calls < 2; calls++) expect(throttle.tryEnter(true)).toBe(true);
    void throttle.enter(false).then(() => sent.push('ordinary'));
    void throttle.enter(true).then(() => sent.push('urgent'));
    await clock.advance(5000);
    expect(sent).toEqual(['urgent']);
    await clock.advance(5000);
    expect(sent).toEqual(['urgent', 'ordinary']);
  });

  it('waits as long as the CRM asked', async () => {
    const clock = new FakeClock();
    const throttle = new LocationThrottle(clock, 90);
    throttle.pause(3000);
    expect(throttle.tryEnter()).toBe(false);
    await clock.advance(3000);
    expect(throttle.tryEnter()).toBe(true);
  });
});

describe('the circuit breaker of a location', () => {
  it('opens after twenty failures in a row', () => {
    const throttle = new LocationThrottle(new FakeClock(), 90);
    for (let failures = 0; failures < 19; failures++) throttle.failed();
    expect(throttle.blockedMs()).toBe(0);
    throttle.succeeded();
    for (let failures = 0; failures < 19; failures++) throttle.failed();
    expect(throttle.blockedMs()).toBe(0);
    throttle.failed();
    expect(throttle.blockedMs()).toBe(10_000);
  });

  it('lets one probe through when its time is over, and closes when the probe succeeds', async () => {
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

  it('stays open longer after every failed probe, up to a minute', async () => {
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

  it('closes on any response of the CRM', async () => {
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
  it('exist once per location and are dropped when idle', async () => {
    const clock = new FakeClock();
    const throttles = new LocationThrottles(clock, 90);
    const first = throttles.of('first');
    first.tryEnter();
    const failing = throttles.of('failing');
    failing.failed();
    expect(throttles.of('first')).toBe(first);
    await clock.advance(120_000);
    for (let index = 0; index < 10_000; index++) throttles.of(`location ${index}`).tryEnter();
    expect(throttles.of('first')).not.toBe(first);
    expect(throttles.of('failing')).toBe(failing);
  });
});
