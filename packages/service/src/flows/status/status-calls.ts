/** What the CRM is told of a message: nothing else is ever sent (A1). */
export type Status = 'pending' | 'delivered' | 'failed';

export interface StatusError {
  readonly code: string;
  readonly message: string;
}

export interface StatusCall {
  readonly locationId: string;
  readonly messageId: string;
  readonly status: Status;
  readonly error: StatusError | undefined;
}

/** Why a call did not get through yet. */
export interface Setback {
  readonly cause: string;
  readonly status: number;
  readonly reason: string;
  readonly attempts: number;
  readonly sinceMs: number;
  readonly othersPass: boolean;
}

/** How long the caller cares. */
export interface Patience {
  /**
   * Asked before every attempt, and after a setback before anything else; false ends the call as `unwanted`.
   * `renewed`: the attempt repeats one whose token had expired, and is part of it.
   */
  wanted(renewed: boolean): boolean;
  /** Asked right before an attempt goes out, where other nodes may have taken the location over. */
  confirmed?(): boolean | Promise<boolean>;
  /** The attempt goes out now. */
  attempting?(): void;
  /** Asked after a setback: is it worth another attempt? */
  again(setback: Setback): boolean;
  /** The call waits; `wake` makes it ask `wanted` at once. */
  waiting(wake: () => void): void;
}

export type StatusOutcome =
  | { readonly kind: 'ok' }
  /** The CRM refused it for good. */
  | { readonly kind: 'refused'; readonly status: number; readonly reason: string }
  | { readonly kind: 'given_up'; readonly setback: Setback }
  | { readonly kind: 'unwanted' };

/** The status call of the CRM, retried as patience allows. Never rejects. */
export interface StatusCalls {
  tell(call: StatusCall, patience: Patience): Promise<StatusOutcome>;
}
