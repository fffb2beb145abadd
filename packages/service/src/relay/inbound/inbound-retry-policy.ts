import { backoff, isStuck } from '../../platform/retry/retry-policies.ts';
import type { RetryPolicy } from '../../platform/retry/retry.ts';

/**
 * The Mac keeps the message, so the message is retried as long as the CRM may accept it. A message on which the CRM fails while it accepts
 * others is given up (I6).
 */
export const inboundRetryPolicy: RetryPolicy = (failure, progress) =>
  isStuck(failure, progress) ? undefined : backoff(failure, progress);

/** For a call that changes something: after a lost response the CRM is read before the call is repeated (I9). */
export const writePolicy: RetryPolicy = (failure, progress) =>
  failure.inDoubt === true ? undefined : inboundRetryPolicy(failure, progress);

/** For a read after a lost response. Without a token the read waits longer: the message could not be posted either. */
export const readPolicy =
  (withinMs: number): RetryPolicy =>
  (failure, progress) => {
    const hasToken = failure.kind !== 'none' && failure.kind !== 'reauth_required';
    return hasToken && progress.elapsedMs >= withinMs ? undefined : backoff(failure, progress);
  };
