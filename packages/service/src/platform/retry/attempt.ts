import type { SignalSource } from './cancellation.ts';

export type FailureKind =
  /** There is no grant for the location. */
  | 'none'
  /** The grant was revoked. */
  | 'reauth_required'
  /** The token store, the token endpoint or the lease store is unavailable. */
  | 'unavailable'
  /** The CRM rejected the token and a newer one is available. */
  | 'token_expired'
  /** The CRM rejected the newer token too. */
  | 'token_refused'
  /** The message is so new that the CRM does not let its status be changed yet. */
  | 'not_yet'
  | 'network'
  | 'timeout'
  /** A response that asks for another attempt, such as 429 or 503. */
  | 'http'
  /** A 2xx whose body does not confirm the request. */
  | 'empty'
  /** The circuit breaker of the location is open. */
  | 'circuit'
  /** Too many calls of the location are queued. */
  | 'crowded'
  /** The CRM rejected the call permanently. */
  | 'refused'
  /** The code or refresh token is no longer valid. */
  | 'invalid'
  /** The location is paused or unpaid; its grant stays valid. */
  | 'inactive'
  /** The caller withdrew the call, or lost the lease it acts under. */
  | 'cancelled';

/** One attempt that did not succeed. */
export interface FailedAttempt {
  readonly ok: false;
  readonly kind: FailureKind;
  /** False: the next attempt would fail the same way. */
  readonly retryable: boolean;
  /** The HTTP status, 0 without a response. */
  readonly status: number;
  /** Shown in logs, the journal and to the Mac, so it contains nothing that was sent. */
  readonly reason: string;
  /** What the network reported, such as `ECONNREFUSED`. */
  readonly code?: string | undefined;
  /** The wait that the CRM, the rate limit or the circuit breaker asks for. */
  readonly retryAfterMs?: number | undefined;
  /** Nothing was sent, so it does not count as an attempt. */
  readonly unsent?: boolean;
  /** The request was sent, and the response was lost or does not say what happened to it: the CRM may have acted on it. */
  readonly inDoubt?: boolean;
  /** How long ago another call for the same location changed something in the CRM. */
  readonly locationOkMsAgo?: number;
}

export type Attempt<T> = { readonly ok: true; readonly value: T } | FailedAttempt;

/** The caller's part in one attempt. */
export interface SendGuard {
  /** The failure that this attempt follows. */
  readonly previous?: FailedAttempt | undefined;
  /** Ends the wait for the rate limit. */
  readonly cancellation?: SignalSource;
  /**
   * Called once, right before the request is sent, since the caller may have lost its lease while the call was queued. False cancels the
   * attempt; a rejection means that the lease store is unavailable.
   */
  readonly fence?: () => Promise<boolean>;
  /** Called after each wait: what follows is work for this message (I10). */
  readonly work?: () => void;
}

export const succeeded = <T>(value: T): Attempt<T> => ({ ok: true, value });

export const failed = (kind: FailureKind, more: Partial<FailedAttempt> = {}): FailedAttempt => ({
  ok: false,
  kind,
  retryable: true,
  status: 0,
  reason: kind,
  ...more,
});

export const CANCELLED = failed('cancelled', { retryable: false, unsent: true });
