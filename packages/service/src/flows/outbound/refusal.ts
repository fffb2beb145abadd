import { codeEntry } from '@footbridge/protocol/codes';
import type { WebhookCode } from '@footbridge/protocol/codes';

/** Why a webhook was not forwarded. A value, not an exception: refusing is everyday work. */
export class Refusal {
  readonly status: number;
  readonly code: WebhookCode;
  /** The answer's `error`. */
  readonly label: string;
  /** Further fields of the answer. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: WebhookCode, details: Record<string, unknown> = {}, label?: string) {
    const entry = codeEntry(code, 'webhook');
    this.status = entry?.http ?? 500;
    this.code = code;
    this.label = label ?? entry?.label ?? code;
    this.details = details;
  }
}
