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
  /** Asked after a setback: is it worth another attempt? */
  again(setback: Setback): boolean;
  /** The call waits; `wake` makes it ask `wanted` at once. */
  waiting(wake: () => void): void;
}

export type NotDone =
  /** The CRM refused it for good. */
  | { readonly kind: 'refused'; readonly status: number; readonly reason: string }
  | { readonly kind: 'given_up'; readonly setback: Setback }
  | { readonly kind: 'unwanted' };

export interface InboundMessage {
  readonly locationId: string;
  readonly contactId: string;
  readonly message: string;
  readonly attachments: readonly string[];
  readonly idempotencyKey: string;
}

/** `inDoubt`: an answer was lost on the way, and the CRM may have it twice if it does not honour the key. */
export type Posted =
  | { readonly kind: 'posted'; readonly crmMessageId: string; readonly inDoubt: boolean }
  | NotDone;

/** `POST …/inbound`, retried as patience allows. Never rejects. */
export interface InboundCalls {
  post(message: InboundMessage, patience: Patience): Promise<Posted>;
}

export type Found =
  | { readonly kind: 'found'; readonly contactId: string }
  | { readonly kind: 'none' }
  | NotDone;

/** The CRM's address book. A handle is a phone number or an email address. Never rejects. */
export interface ContactCalls {
  find(locationId: string, handle: string, patience: Patience): Promise<Found>;
  /** Answers with the one that exists when it exists. */
  create(locationId: string, handle: string, patience: Patience): Promise<Found>;
}
