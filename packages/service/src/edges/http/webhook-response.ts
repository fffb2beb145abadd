import { codeEntry } from '@footbridge/protocol/codes';

import type { WebhookOutcome } from '../../flows/outbound/webhook-outcome.ts';
import type { Channel } from '../../flows/outbound/webhook-request.ts';
import { errorResponse } from './error-response.ts';
import type { ErrorResponse } from './error-response.ts';
import { rateLimitHeaders } from './rate-limit-headers.ts';

export interface WebhookResponse extends ErrorResponse {
  /** From the catalogue; empty where the contract has none. */
  readonly code: string;
}

const SENT: Record<Channel, string> = { imessage: 'Message sent to iMessage', sms: 'Message sent to SMS' };
/** The same bytes for every fault (S1). */
const UNSIGNED = '{"error":"Invalid signature"}';
const LIMITED = {
  status: 429,
  label: 'TOO_MANY_REQUESTS',
  code: 'TOO_MANY_REQUESTS',
  details: { message: 'Too many webhook requests for this location' },
};

export function webhookResponse(outcome: WebhookOutcome): WebhookResponse {
  switch (outcome.kind) {
    case 'sent': {
      const { requestId, channel, messageId, locationId, rate } = outcome;
      const body = { status: 'success', requestId, message: SENT[channel], messageId, locationId };
      return { status: 200, code: '', headers: rateLimitHeaders(rate), body: JSON.stringify(body) };
    }
    case 'unsigned':
      return { status: 401, code: '', headers: {}, body: UNSIGNED };
    case 'limited':
      return {
        ...errorResponse({ ...LIMITED, headers: rateLimitHeaders(outcome.rate) }),
        code: LIMITED.code,
      };
    case 'rejected': {
      const { code, label, details } = outcome.rejection;
      const headers = rateLimitHeaders(outcome.rate);
      return { ...errorResponse({ status: statusOf(code), label, code, details, headers }), code };
    }
    default: {
      const code = 'INTERNAL_ERROR';
      return { ...errorResponse({ status: 500, label: 'Internal error', code }, outcome.requestId), code };
    }
  }
}

const statusOf = (code: string): number => codeEntry(code, 'webhook')?.http ?? 500;
