import { expect, it } from 'vitest';

import { FakeClock } from './fake-clock.ts';

it('a fake clock runs due tasks in order of time', async () => {
  const clock = new FakeClock();
  const seen: number[] = [];
  clock.after(300, () => seen.push(clock.monotonic()));
  clock.after(100, () => seen.push(clock.monotonic()));
  const cancel = clock.after(200, () => seen.push(-1));
  cancel();
  await clock.advance(250);
  expect(seen).toEqual([100]);
  await clock.advance(50);
  expect(seen).toEqual([100, 300]);
});

it('a sleep on a fake clock ends early when its signal aborts', async () => {
  const clock = new FakeClock();
  const abort = new AbortController();
  const slept = clock.sleep(1000, abort.signal);
  abort.abort();
  await slept;
  expect(clock.monotonic()).toBe(0);
});

it('the wall clock moves alone when the machine sleeps', () => {
  const clock = new FakeClock(1000);
  clock.advanceWallClock(500);
  expect([clock.now(), clock.monotonic()]).toEqual([1500, 0]);
});
