import { setTimeout as sleep } from 'node:timers/promises';

import { until } from '@footbridge/testkit/until';
import { expect, it } from 'vitest';

import { BoundedShare } from './bounded-share.ts';

function work(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

it('T54 runs in order, the first at once, and leaves most of the time to others', async () => {
  const share = new BoundedShare();
  const done: number[] = [];
  const since = performance.now();
  for (let number = 0; number < 5; number++)
    share.run(() => {
      work(10);
      done.push(number);
    });
  expect(done).toEqual([0]);
  await until(() => done.length === 5);
  expect(done).toEqual([0, 1, 2, 3, 4]);
  expect(performance.now() - since).toBeGreaterThan(4 * (10 + 30));
  // Idle again: the next one is not delayed.
  await sleep(100);
  share.run(() => done.push(5));
  await until(() => done.length === 6);
});
