import { setTimeout as sleep } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import { SkippingClock } from './skipping-clock.ts';

describe('the clock of which a test skips a part', () => {
  it('skips a pause of a minute', async () => {
    const clock = new SkippingClock({ stopped: true });
    const start = clock.now();
    await clock.skipThrough(clock.sleep(60_000));
    expect(clock.now() - start).toBeGreaterThanOrEqual(60_000);
  });

  it('does not advance by hours because of a slow disk or socket', async () => {
    const clock = new SkippingClock({ stopped: true });
    const start = clock.now();
    await clock.skipThrough(sleep(200));
    expect(clock.now() - start).toBeLessThan(5 * 60_000);
  });
});
