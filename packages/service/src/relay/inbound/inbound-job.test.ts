import { describe, expect, it } from 'vitest';

import { failed } from '../../platform/retry/retry.ts';
import { inboundRetryPolicy } from './inbound-job.ts';

const LATE = { attempts: 200, elapsedMs: 3_600_000, jitter: 1 };

describe('an inbound message is retried', () => {
  it.each([
    'network',
    'timeout',
    'circuit',
    'crowded',
    'none',
    'reauth_required',
    'unavailable',
    'token_refused',
  ] as const)('I6 a message is retried for hours after %s', (kind) => {
    expect(inboundRetryPolicy(failed(kind), LATE)).toBeGreaterThan(0);
  });

  it('I6 a message is retried for hours after a 500, unless the CRM fails on this message alone', () => {
    const failure = failed('http', { status: 500 });
    expect(inboundRetryPolicy(failure, LATE)).toBeGreaterThan(0);
    expect(inboundRetryPolicy({ ...failure, locationOkMsAgo: 1000 }, LATE)).toBeUndefined();
  });
});
