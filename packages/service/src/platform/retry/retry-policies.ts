import type { FailedAttempt } from './attempt.ts';
import type { RetryPolicy, RetryProgress } from './retry.ts';

const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 30_000;
const NOT_YET_MS = [2000, 4000, 8000, 16_000, 30_000];
const STUCK_ATTEMPTS = 8;
const STUCK_MS = 15 * 60_000;

/** Returns the requested delay, else an exponential backoff that jitter shortens by up to half. Never gives up. */
export const backoff: RetryPolicy = ({ kind, retryAfterMs }, { attempts, jitter }) => {
  if (kind === 'token_expired') return 0;
  if (kind === 'not_yet') return NOT_YET_MS[attempts - 1] ?? MAX_BACKOFF_MS;
  const ceiling = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.max(0, attempts - 1));
  return retryAfterMs ?? ceiling * (0.5 + jitter / 2);
};

/** One attempt, repeated only with a renewed token. */
export const once: RetryPolicy = ({ kind }) => (kind === 'token_expired' ? 0 : undefined);

export const fixedDelay =
  (maxAttempts: number, delayMs: number): RetryPolicy =>
  (_failure, { attempts }) =>
    attempts < maxAttempts ? delayMs : undefined;

/** The CRM has failed on this call for a quarter of an hour while it accepted others of the location. */
export const isStuck = (
  { status, locationOkMsAgo = Number.POSITIVE_INFINITY }: FailedAttempt,
  { attempts, elapsedMs }: RetryProgress,
): boolean =>
  attempts >= STUCK_ATTEMPTS && elapsedMs >= STUCK_MS && status >= 500 && locationOkMsAgo < elapsedMs;
