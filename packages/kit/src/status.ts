import { codeEntry } from '@footbridge/protocol/codes';

/** What the bridge reports about an outbound message. */
export type MessageStatus = 'pending' | 'delivered' | 'failed';

/**
 * The status to show after another one came in. Status calls may cross each other: `delivered` and `failed` are final,
 * a late `pending` is ignored, and so is whatever the bridge does not send.
 */
export function nextStatus(current: MessageStatus | undefined, incoming: string): MessageStatus | undefined {
  if (current === 'delivered' || current === 'failed') return current;
  return incoming === 'pending' || incoming === 'delivered' || incoming === 'failed' ? incoming : current;
}

export interface RetryAdvice {
  /** Whether sending it again by program makes sense. */
  readonly retry: boolean;
  /** Whether the cause may pass without anybody changing the request. */
  readonly transient: boolean;
  /** At least this long before the next try; without it the cause must be gone first, as the advice says. */
  readonly waitMs?: number;
  readonly advice: string;
}

const UNKNOWN: RetryAdvice = {
  retry: false,
  transient: true,
  advice: 'This code is newer than this kit: show it to a person, and do not try again by program.',
};

const BACKOFF_MS = 5_000;
/** The queue of a Mac that is full needs longer to drain. */
const WAITS: Readonly<Record<string, number>> = { RATE_LIMITED: 30_000 };

/** What to do about the `error.code` of a failed message. */
export function isRetryable(code: string): RetryAdvice {
  const entry = codeEntry(code, 'status');
  if (!entry) return UNKNOWN;
  const { retry, advice } = entry;
  if (retry === 'yes') return { retry: true, transient: true, waitMs: WAITS[code] ?? BACKOFF_MS, advice };
  return { retry: retry === 'later', transient: retry !== 'no', advice };
}
