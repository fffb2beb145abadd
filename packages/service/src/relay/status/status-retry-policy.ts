import type { FailedAttempt } from '../../platform/retry/attempt.ts';
import { backoff, isStuck } from '../../platform/retry/retry-policies.ts';
import type { RetryPolicy, RetryProgress } from '../../platform/retry/retry.ts';

/**
 * Where a status comes from. `pending` and `rejection` come from the service and are given up when the message has a newer status.
 * `terminal` comes from a Mac, which keeps it until the CRM has accepted or permanently rejected it.
 */
export type StatusSource = 'pending' | 'terminal' | 'rejection';

/** The first attempt and five more, after 2, 4, 8, 16 and 30 s. */
const MAX_NOT_YET_ATTEMPTS = 6;
const MAX_OWN_ATTEMPTS = 5;
/** How long `pending` is held while no token is available, or the lease cannot be confirmed. */
const MAX_HELD_MS = 60_000;
const TRANSIENT = new Set(['network', 'timeout', 'http']);

const policyOf =
  (source: StatusSource): RetryPolicy =>
  (failure, progress) =>
    isWorthRetrying(source, failure, progress) ? backoff(failure, progress) : undefined;

/** Retries `pending` a few times, and a terminal status as long as the CRM may accept it (A11). */
export const STATUS_RETRY_POLICIES: Readonly<Record<StatusSource, RetryPolicy>> = {
  pending: policyOf('pending'),
  terminal: policyOf('terminal'),
  rejection: policyOf('rejection'),
};

function isWorthRetrying(source: StatusSource, failure: FailedAttempt, progress: RetryProgress): boolean {
  const { kind } = failure;
  if (kind === 'token_expired') return true;
  if (kind === 'none') return false;
  if (kind === 'not_yet') return progress.attempts < MAX_NOT_YET_ATTEMPTS;
  if (source === 'terminal') return kind !== 'token_refused' && !isStuck(failure, progress);
  // A rejection is not held: by then the CRM may have repeated the request at another node.
  if (kind === 'unavailable') return source === 'pending' && progress.elapsedMs < MAX_HELD_MS;
  return TRANSIENT.has(kind) && progress.attempts < MAX_OWN_ATTEMPTS;
}
