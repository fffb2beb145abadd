import type { Attempt, SendGuard } from '../../platform/retry/attempt.ts';

/** The only statuses that are sent to the CRM (A1). */
export type Status = 'pending' | 'delivered' | 'failed';

export interface StatusError {
  readonly code: string;
  readonly message: string;
}

export interface StatusUpdate {
  readonly locationId: string;
  readonly messageId: string;
  readonly status: Status;
  readonly error: StatusError | undefined;
  /** The Mac's GUID of the message, when it is known. */
  readonly guid?: string | undefined;
}

/** What the CRM shows for a message: its status, `none` without one of ours, `absent` when the location has no such message. */
export type ShownStatus = Status | 'none' | 'absent';

/** The status calls of the CRM. One attempt each; never reject. */
export interface StatusCalls {
  read(locationId: string, messageId: string, guard: SendGuard): Promise<Attempt<ShownStatus>>;
  put(update: StatusUpdate, guard: SendGuard): Promise<Attempt<undefined>>;
}
