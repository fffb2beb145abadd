import type { Clock } from '@footbridge/runtime/clock';

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

/** Provides an abort signal, which may be created on demand: read it only before a wait. An AbortController also has this shape. */
export interface SignalSource {
  readonly signal: AbortSignal;
}

/** An AbortController whose signal is created only when a wait needs it: every status has two, and few of them ever wait. */
export class Cancellation implements SignalSource {
  #isCancelled = false;
  #controller: AbortController | undefined;

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#isCancelled) this.#controller.abort();
    return this.#controller.signal;
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#controller?.abort();
  }
}

export interface RetryProgress {
  /** Requests sent so far. */
  readonly attempts: number;
  readonly elapsedMs: number;
  /** Random, from 0 to 1. */
  readonly jitter: number;
}

/** A pure function: the wait in milliseconds before the next attempt, or undefined to give up. */
export type RetryPolicy = (failure: FailedAttempt, progress: RetryProgress) => number | undefined;

export interface RetryOptions<T> {
  /** Makes one attempt. */
  readonly attempt: (previous: FailedAttempt | undefined) => Promise<Attempt<T>>;
  readonly policy: RetryPolicy;
  readonly clock: Clock;
  readonly random?: () => number;
  /** Checked before each attempt and after each failure; false cancels the call. */
  readonly isWanted?: (previous: FailedAttempt | undefined) => boolean;
  /** Ends a wait early. After that, one more attempt is made if it is still wanted, and no further wait. */
  readonly cancellation?: SignalSource;
  /** Called for each retryable failure, even if the call is no longer wanted. */
  readonly onFailure?: (failure: FailedAttempt) => void;
}

/** Repeats an attempt until it succeeds, fails for good, is cancelled, or the policy gives up. Resolves with the last result. */
export async function retry<T>(options: RetryOptions<T>): Promise<Attempt<T>> {
  const { attempt, policy, clock, random = Math.random, isWanted, cancellation, onFailure } = options;
  const startedAt = clock.monotonic();
  let attempts = 0;
  let previous: FailedAttempt | undefined;
  for (;;) {
    if (isWanted?.(previous) === false) return CANCELLED;
    const result = await attempt(previous);
    if (result.ok || !result.retryable) return result;
    onFailure?.(result);
    if (isWanted?.(result) === false) return CANCELLED;
    if (result.unsent !== true) attempts++;
    const elapsedMs = clock.monotonic() - startedAt;
    const delayMs = policy(result, { attempts, elapsedMs, jitter: random() });
    if (delayMs === undefined) return result;
    if (delayMs > 0) {
      const signal = cancellation?.signal;
      if (signal?.aborted) return CANCELLED;
      await clock.sleep(delayMs, signal);
    }
    previous = result;
  }
}

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
