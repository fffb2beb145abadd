import { codeEntry } from '@footbridge/protocol/codes';
import type { WebhookCode } from '@footbridge/protocol/codes';

/** Why a webhook was not forwarded. A value, not an exception: rejecting a request is an expected outcome. */
export class Rejection {
  readonly code: WebhookCode;
  /** The `error` field of the response. */
  readonly label: string;
  /** Further fields of the response. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: WebhookCode, details: Record<string, unknown> = {}, label?: string) {
    this.code = code;
    this.label = label ?? codeEntry(code, 'webhook')?.label ?? code;
    this.details = details;
  }
}
