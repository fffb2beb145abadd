import type { StatusCode } from '@footbridge/protocol/codes';

/** How a job ended. */
export type Outcome =
  | { readonly state: 'delivered'; readonly guid: string | undefined }
  | Failed
  /** The person may have received it. Reported as a failure and never sent again. */
  | { readonly state: 'unknown'; readonly code: StatusCode; readonly message: string };

export interface Failed {
  readonly state: 'failed';
  readonly code: StatusCode;
  readonly message: string;
}

export function failed(code: StatusCode, message: string): Failed {
  return { state: 'failed', code, message };
}

/** Nothing was sent, because a limit of this line is reached. The job stays in the queue. */
export interface Held {
  readonly state: 'held';
  /** What this line has done, in words: `begun 20 new conversations in an hour`. */
  readonly limit: string;
  /** When the limit has room again. */
  readonly slotAt: number;
}
