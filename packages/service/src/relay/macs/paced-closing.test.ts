import { FakeClock } from '@footbridge/testkit/fake-clock';
import { describe, expect, it } from 'vitest';

import { PacedClosing } from './paced-closing.ts';

function sockets(count: number) {
  const clock = new FakeClock();
  const closing = new PacedClosing(clock);
  const closed: { at: number; code: number }[] = [];
  const closeAll = () => {
    for (let index = 0; index < count; index++)
      closing.close({ close: (code) => closed.push({ at: clock.monotonic(), code }) }, 4503, 'x');
  };
  return { clock, closed, closeAll };
}

describe('paced closing', () => {
  it('M8 closes a few sockets immediately', () => {
    const { closed, closeAll } = sockets(20);
    closeAll();
    expect(closed).toHaveLength(20);
  });

  it('M8 closes ten thousand sockets within 5 seconds, at most 50 per batch', async () => {
    const { clock, closed, closeAll } = sockets(10_000);
    closeAll();
    await clock.advance(5000);
    expect(closed).toHaveLength(10_000);
    const perMoment = Map.groupBy(closed, ({ at }) => at);
    expect(Math.max(...Array.from(perMoment.values(), (those) => those.length))).toBeLessThanOrEqual(50);
  });
});
