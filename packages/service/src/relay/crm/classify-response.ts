import { parseRetryAfter } from '@footbridge/protocol/retry-after';

import type { FailedAttempt } from '../../platform/retry/attempt.ts';
import type { HttpResponse } from './transport.ts';

type Classified = Pick<FailedAttempt, 'retryable' | 'retryAfterMs' | 'inDoubt'> & {
  readonly kind: 'token_expired' | 'not_yet' | 'http' | 'refused';
};

// 401s that a new token does not fix: wrong scope, wrong kind of token, no Version header, a message of another app.
const NOT_THE_TOKEN =
  /not authorized for this scope|user type mismatch|authclass type is not allowed|version header|no message found/i;
const TOO_NEW = /no conversation provider found for this message/i;
const MAX_WAIT_MS = 600_000;
const DEFAULT_429_WAIT_MS = 1000;

const REFUSED: Classified = { kind: 'refused', retryable: false };
const TOKEN_EXPIRED: Classified = { kind: 'token_expired', retryable: true };
const NOT_YET: Classified = { kind: 'not_yet', retryable: true };

/** What a response outside of 2xx means for the call. `message` is what the CRM says in its body. */
export function classifyResponse(
  { status, headers }: HttpResponse,
  message: string,
  now: number,
): Classified {
  if (status === 401) return NOT_THE_TOKEN.test(message) ? REFUSED : TOKEN_EXPIRED;
  if (status === 403) return TOO_NEW.test(message) ? NOT_YET : REFUSED;
  const retryAfter = parseRetryAfter(headers.get('retry-after'), now);
  if (status === 429) return retryLater(retryAfter ?? rateLimitInterval(headers) ?? DEFAULT_429_WAIT_MS);
  // The CRM, or a gateway in front of it, may fail after the request was carried out.
  if (status >= 500 || status === 408) return { ...retryLater(retryAfter), inDoubt: true };
  // A redirect does not come from the CRM: the address is wrong, or something is in between.
  return status === 425 || status < 400 ? retryLater() : REFUSED;
}

const retryLater = (waitMs?: number): Classified => ({
  kind: 'http',
  retryable: true,
  retryAfterMs: waitMs === undefined ? undefined : Math.min(waitMs, MAX_WAIT_MS),
});

function rateLimitInterval(headers: HttpResponse['headers']): number | undefined {
  const interval = Number(headers.get('x-ratelimit-interval-milliseconds'));
  return Number.isFinite(interval) && interval > 0 ? interval : undefined;
}
