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
