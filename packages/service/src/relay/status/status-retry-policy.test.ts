import { describe, expect, it } from 'vitest';

import { failed } from '../../platform/retry/attempt.ts';
import type { FailureKind } from '../../platform/retry/attempt.ts';
import { STATUS_RETRY_POLICIES } from './status-retry-policy.ts';
import type { StatusSource } from './status-retry-policy.ts';

const HOUR_MS = 3_600_000;

/** Whether a status is retried after a failure of this kind. */
const retries = (
  source: StatusSource,
  kind: FailureKind,
  { attempts = 1, elapsedMs = 0, locationOkMsAgo = Number.POSITIVE_INFINITY } = {},
) =>
  STATUS_RETRY_POLICIES[source](failed(kind, { status: 500, locationOkMsAgo }), {
    attempts,
    elapsedMs,
    jitter: 1,
  }) !== undefined;

describe('a status is retried', () => {
  it('A4 up to five times when it is pending or a rejection', () => {
    for (const source of ['pending', 'rejection'] as const)
      for (const kind of ['http', 'network', 'timeout'] as const)
        expect([4, 5].map((attempts) => retries(source, kind, { attempts }))).toEqual([true, false]);
  });

  it.each(['circuit', 'crowded', 'reauth_required', 'token_refused', 'none'] as const)(
    'A4 not at all after %s when it is pending',
    (kind) => {
      expect(retries('pending', kind)).toBe(false);
    },
  );

  it.each(['http', 'network', 'timeout', 'circuit', 'crowded', 'unavailable', 'reauth_required'] as const)(
    'A11 for hours after %s when it is terminal',
    (kind) => {
      expect(retries('terminal', kind, { attempts: 500, elapsedMs: HOUR_MS })).toBe(true);
    },
  );

  it.each(['none', 'token_refused'] as const)('A11 not at all after %s when it is terminal', (kind) => {
    expect(retries('terminal', kind)).toBe(false);
  });

  it('A11 no more when the CRM fails on this terminal status alone', () => {
    const stuck = { attempts: 500, elapsedMs: HOUR_MS, locationOkMsAgo: 1000 };
    expect(retries('terminal', 'http', stuck)).toBe(false);
  });

  it('A11 five times while the message is too new', () => {
    for (const source of ['pending', 'terminal'] as const)
      expect([5, 6].map((attempts) => retries(source, 'not_yet', { attempts }))).toEqual([true, false]);
  });

  it('A2 a status is retried for a minute while a pending has no token or the lease cannot be confirmed; a rejection is not held', () => {
    const held = [59_000, 60_000].map((elapsedMs) =>
      retries('pending', 'unavailable', { attempts: 0, elapsedMs }),
    );
    expect(held).toEqual([true, false]);
    expect(retries('rejection', 'unavailable')).toBe(false);
  });

  it('A11 a status is retried at once with a renewed token', () => {
    for (const source of ['pending', 'terminal', 'rejection'] as const)
      expect(retries(source, 'token_expired', { attempts: 50 })).toBe(true);
  });
});
