import { FakeClock } from '@footbridge/testkit/fake-clock';
import { expect, it } from 'vitest';

import { createMemoryLimits } from './limits-memory.ts';
import { limitsContract } from './limits.contract.ts';

limitsContract('memory', async () => {
  const clock = new FakeClock();
  return { limits: createMemoryLimits(clock, 50), pass: (ms) => clock.advance(ms), maxKeys: 50 };
});

it('removes expired windows when a new one opens', async () => {
  const clock = new FakeClock();
  const limits = createMemoryLimits(clock);
  const limit = { name: 'test', max: 1, windowSec: 1 };
  for (let n = 0; n < 5000; n++) void limits.take(limit, `early-${n}`);
  await clock.advance(1000);
  void limits.take(limit, 'late');
  expect(limits.size).toBe(1);
});

it('evicts by the start of the current window, not by the first use of the key', async () => {
  const clock = new FakeClock();
  const limits = createMemoryLimits(clock, 2);
  const limit = { name: 'test', max: 1, windowSec: 1 };
  void limits.take(limit, 'a');
  await clock.advance(500);
  void limits.take(limit, 'b');
  await clock.advance(600);
  void limits.take(limit, 'a');
  void limits.take(limit, 'c');
  expect(limits.peek(limit, 'a')).toMatchObject({ allowed: false });
  expect(limits.peek(limit, 'b')).toMatchObject({ allowed: true });
});

it('L2 reports the whole window at its start, whatever the fraction of the clock', () => {
  const limit = { name: 'test', max: 10, windowSec: 60 };
  for (let n = 0; n < 1000; n++) {
    const limits = createMemoryLimits({ monotonic: () => n * 7.123_456_789 });
    expect(limits.take(limit, 'key').resetSec).toBe(60);
  }
});
