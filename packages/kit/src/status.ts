import { statusEntry } from '@footbridge/protocol/codes';

/** The status of an outbound message as reported by the bridge. */
export type MessageStatus = 'pending' | 'delivered' | 'failed';

/**
 * Returns the status to show after a status callback. Callbacks may arrive out of order: `delivered` and `failed` are
 * final, and a late `pending` or an unknown status is ignored.
 */
export function nextStatus(current: MessageStatus | undefined, incoming: string): MessageStatus | undefined {
  if (current === 'delivered' || current === 'failed') return current;
  return incoming === 'pending' || incoming === 'delivered' || incoming === 'failed' ? incoming : current;
}

export interface RetryAdvice {
  /** Whether an automatic retry makes sense. */
  readonly retry: boolean;
  /** Whether the same request may succeed later. */
  readonly transient: boolean;
  /** The minimum delay before the next attempt. If absent, the cause named in `advice` must be resolved first. */
  readonly waitMs?: number;
  readonly advice: string;
}

const UNKNOWN: RetryAdvice = {
  retry: false,
  transient: true,
  advice:
    'This version of the kit does not know the code: show it to a person and do not retry automatically.',
};

const BACKOFF_MS = 5_000;
/** A full queue on the Mac takes longer to drain. */
const WAITS: Readonly<Record<string, number>> = { RATE_LIMITED: 30_000 };

/** Returns the retry advice for the `error.code` of a failed message. */
export function isRetryable(code: string): RetryAdvice {
  const entry = statusEntry(code);
  if (!entry) return UNKNOWN;
  const { retry, advice } = entry;
  if (retry === 'yes') return { retry: true, transient: true, waitMs: WAITS[code] ?? BACKOFF_MS, advice };
  return { retry: retry === 'later', transient: retry !== 'no', advice };
}
