import { backoff, isStuck } from '../../ports/crm/retry-policies.ts';
import type { RetryPolicy } from '../../ports/crm/retry.ts';

const MAX_EMPTY_RESPONSES = 8;

/** The Mac keeps the message, so it is retried as long as the CRM may accept it; one that the CRM alone cannot take makes way (I6). */
export const inboundRetryPolicy: RetryPolicy = (failure, progress) => {
  if (failure.kind === 'empty' && progress.attempts >= MAX_EMPTY_RESPONSES) return undefined;
  return isStuck(failure, progress) ? undefined : backoff(failure, progress);
};
