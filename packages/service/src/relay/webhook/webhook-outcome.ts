import type { LocationId, RequestId } from '@footbridge/protocol/ids';

import type { Verdict } from '../../platform/limits/limits.ts';
import type { Rejection } from './rejection.ts';
import type { SignatureFault } from '../keys/verify-signature.ts';
import type { Channel } from './webhook-request.ts';

/** What became of a webhook. `edges/http/webhook-response.ts` renders it. */
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
