import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { afterClose, backoffMs } from './after-close.ts';
import type { Ended } from './after-close.ts';

const closed = (code: number, reason = ''): Ended => ({ how: 'closed', code, reason });
const then = (ended: Ended): unknown => afterClose(ended, { protocolWaitMs: 60_000 });

describe('what follows a close', () => {
  it.each([
    [closed(1001), { do: 'reconnect', wait: 'jitter' }],
    [closed(1006), { do: 'reconnect', wait: 'backoff' }],
    [closed(1009), { do: 'reconnect', wait: 'backoff', tooLarge: true }],
    [closed(4000, 'why'), { do: 'reconnect', wait: 60_000 }],
    [closed(4008), { do: 'reconnect', wait: 'backoff' }],
    [closed(4013), { do: 'reconnect', wait: 'backoff' }],
    [closed(4029, '8'), { do: 'reconnect', wait: 8_000 }],
    [closed(4029, 'retry in 16 s'), { do: 'reconnect', wait: 16_000 }],
    [closed(4029), { do: 'reconnect', wait: 60_000 }],
    [closed(4029, '999999999'), { do: 'reconnect', wait: 600_000 }],
    [closed(4501), { do: 'stay-away', code: 4501 }],
    [closed(4503), { do: 'stay-away', code: 4503 }],
    [closed(4504), { do: 'stay-away', code: 4504 }],
    [{ how: 'refused', status: 401, retryAfterMs: undefined }, { do: 'renew-token' }],
    [
      { how: 'refused', status: 403, retryAfterMs: undefined },
      { do: 'stay-away', code: 4503 },
    ],
    [{ how: 'refused', status: 426, retryAfterMs: undefined }, { do: 'stay-away' }],
    [
      { how: 'refused', status: 429, retryAfterMs: 3_000 },
      { do: 'reconnect', wait: 3_000 },
    ],
    [
      { how: 'refused', status: 503, retryAfterMs: undefined },
      { do: 'reconnect', wait: 'backoff' },
    ],
    [{ how: 'silent' }, { do: 'reconnect', wait: 'backoff' }],
    [{ how: 'woke' }, { do: 'reconnect', wait: 0 }],
    [
      { how: 'unreachable', detail: 'ECONNREFUSED' },
      { do: 'reconnect', wait: 'backoff' },
    ],
    [{ how: 'stopped' }, { do: 'stop' }],
  ] satisfies [Ended, object][])('%o', (ended, next) => {
    expect(then(ended)).toMatchObject(next);
  });

  it('M1 4500 to 4999 always mean to stay away, 4000 to 4499 never', () => {
    for (let code = 4000; code < 5000; code += 1) {
      expect(afterClose(closed(code), { protocolWaitMs: 1 }).do).toBe(
        code < 4500 ? 'reconnect' : 'stay-away',
      );
    }
  });
});

describe('backoff', () => {
  it('is anything between nothing and a bound that doubles up to the cap', () => {
    const bounds = { baseMs: 500, capMs: 30_000 };
    fc.assert(
      fc.property(fc.nat(1000), fc.double({ min: 0, max: 0.999, noNaN: true }), (attempt, random) => {
        const ms = backoffMs(attempt, random, bounds);
        expect(ms).toBeGreaterThanOrEqual(0);
        expect(ms).toBeLessThan(Math.min(30_000, 500 * 2 ** Math.min(attempt, 30)));
      }),
    );
    expect(backoffMs(0, 0.999, bounds)).toBe(499);
    expect(backoffMs(3, 0.999, bounds)).toBe(3996);
    expect(backoffMs(50, 0.999, bounds)).toBe(29_970);
  });
});
