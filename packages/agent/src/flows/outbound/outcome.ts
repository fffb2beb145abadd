import type { StatusCode } from '@footbridge/protocol/codes';

/** How a job ended. `unknown` is told to the CRM as a failure, and never sent again. */
export type Outcome =
  | { readonly state: 'delivered'; readonly guid: string | undefined }
  | Refused
  | { readonly state: 'unknown'; readonly code: StatusCode; readonly message: string };

export interface Refused {
  readonly state: 'failed';
  readonly code: StatusCode;
  readonly message: string;
}

export function refused(code: StatusCode, message: string): Refused {
  return { state: 'failed', code, message };
}
