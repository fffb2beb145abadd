import { expect, it } from 'vitest';

import { every, sleep } from './clock.ts';
import { FakeClock } from './fake-clock.ts';

it('a fake clock runs what is due, in order of time', async () => {
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

it('sleep ends early when its signal aborts', async () => {
  const clock = new FakeClock();
  const abort = new AbortController();
  const slept = sleep(clock, 1000, abort.signal);
  abort.abort();
  await slept;
  expect(clock.monotonic()).toBe(0);
});

it('every repeats until it is stopped', async () => {
  const clock = new FakeClock();
  let runs = 0;
  const stop = every(clock, 100, () => runs++);
  await clock.advance(350);
  stop();
  await clock.advance(500);
  expect(runs).toBe(3);
});
