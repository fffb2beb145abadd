import { parseTraceParent } from '@footbridge/protocol/traceparent';

import type { WebhookRequest } from './webhook-request.ts';

/** Returns the `traceparent` header if it is valid. */
export function callerOf({ headers }: Pick<WebhookRequest, 'headers'>): string | undefined {
  const { traceparent } = headers;
  return typeof traceparent === 'string' && parseTraceParent(traceparent) !== undefined
    ? traceparent
    : undefined;
}
