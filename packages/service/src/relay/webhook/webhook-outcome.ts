import { codeEntry } from '@footbridge/protocol/codes';
import type { WebhookCode } from '@footbridge/protocol/codes';
import type { LocationId, RequestId } from '@footbridge/protocol/ids';
import type { Verdict } from '../../platform/limits/limits.ts';
import type { SignatureFault } from '../keys/verify-signature.ts';
import type { Channel } from './webhook-request.ts';

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

/** Why a message was not forwarded. */
export interface Unsent {
  readonly rejection: Rejection;
  /** False when the frame may have been written nevertheless. */
  readonly isCertain: boolean;
  /** Whether the CRM is told that the message failed. */
  readonly isReported: boolean;
}

/** What became of a webhook. `webhook-route.ts` renders it. */
export type WebhookOutcome =
  | {
      readonly kind: 'sent';
      readonly requestId: RequestId;
      readonly channel: Channel;
      readonly messageId: string | null;
      readonly locationId: LocationId;
      readonly rate: Verdict;
    }
  | { readonly kind: 'unsigned'; readonly fault: SignatureFault }
  | { readonly kind: 'limited'; readonly rate: Verdict }
  | {
      readonly kind: 'rejected';
      readonly requestId: RequestId;
      readonly rejection: Rejection;
      readonly rate: Verdict;
    }
  | { readonly kind: 'failed'; readonly requestId: RequestId };
