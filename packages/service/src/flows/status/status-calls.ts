import type { Attempt, SendGuard } from '../../ports/crm/attempt.ts';

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

/** The status call of the CRM. One attempt; never rejects. */
export interface StatusCalls {
  put(update: StatusUpdate, guard: SendGuard): Promise<Attempt<undefined>>;
}
