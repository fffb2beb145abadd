import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { afterClose, backoffMs } from './after-close.ts';
import type { SessionEnd } from './after-close.ts';

const closed = (code: number, reason = ''): SessionEnd => ({ how: 'closed', code, reason });
const rejected = (status: number, retryAfterMs?: number): SessionEnd => ({
  how: 'rejected',
  status,
  isFromService: true,
  retryAfterMs,
});
const byProxy = (status: number, retryAfterMs?: number): SessionEnd => ({
  how: 'rejected',
  status,
  isFromService: false,
  retryAfterMs,
});

describe('afterClose', () => {
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
    [rejected(401), { do: 'renew-token' }],
    [rejected(403), { do: 'stay-away', code: 4503 }],
    [rejected(426), { do: 'stay-away' }],
    [rejected(429, 3_000), { do: 'reconnect', wait: 3_000 }],
    [rejected(503), { do: 'reconnect', wait: 'backoff' }],
    [byProxy(401), { do: 'reconnect', wait: 'backoff' }],
    [
      byProxy(403),
      {
        do: 'reconnect',
        wait: 'backoff',
        because: 'a proxy or captive portal responded with HTTP 403, not the service',
      },
    ],
    [byProxy(403, 3_000), { do: 'reconnect', wait: 3_000 }],
    [byProxy(426), { do: 'reconnect', wait: 'backoff' }],
    [{ how: 'timeout' }, { do: 'reconnect', wait: 'backoff' }],
    [{ how: 'woke' }, { do: 'reconnect', wait: 0 }],
    [
      { how: 'unreachable', detail: 'ECONNREFUSED' },
      { do: 'reconnect', wait: 'backoff' },
    ],
    [{ how: 'stopped' }, { do: 'stop' }],
  ] satisfies [SessionEnd, object][])('maps %o to %o', (end, next) => {
    expect(afterClose(end, { protocolWaitMs: 60_000 })).toMatchObject(next);
  });

  it('M1 stays away after every code from 4500 to 4999 and reconnects after 4000 to 4499', () => {
    for (let code = 4000; code < 5000; code += 1) {
      expect(afterClose(closed(code), { protocolWaitMs: 1 }).do).toBe(
        code < 4500 ? 'reconnect' : 'stay-away',
      );
    }
  });
});

describe('backoffMs', () => {
  it('returns a delay between zero and a bound that doubles up to the cap', () => {
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
