import { codeEntry } from '@footbridge/protocol/codes';

import type { WebhookOutcome } from './webhook-outcome.ts';
import type { Channel } from './webhook-request.ts';
import { errorResponse, rateLimitHeaders } from '../../platform/http/error-response.ts';
import type { ErrorResponse } from '../../platform/http/error-response.ts';

export interface WebhookResponse extends ErrorResponse {
  /** From the catalogue; empty where the contract has none. */
  readonly code: string;
}

const SENT: Record<Channel, string> = { imessage: 'Message sent to iMessage', sms: 'Message sent to SMS' };
/** The same bytes for every fault (S1). */
export const UNSIGNED = '{"error":"Invalid signature"}';
const LIMITED = {
  status: 429,
  label: 'TOO_MANY_REQUESTS',
  code: 'TOO_MANY_REQUESTS',
  details: { message: 'Too many webhook requests for this location' },
};

const FAILED = { status: 500, label: 'Internal error', code: 'INTERNAL_ERROR' };

export function webhookResponse(outcome: WebhookOutcome): WebhookResponse {
  if (outcome.kind === 'sent') {
    const { requestId, channel, messageId, locationId, rate } = outcome;
    const body = { status: 'success', requestId, message: SENT[channel], messageId, locationId };
    return { status: 200, code: '', headers: rateLimitHeaders(rate), body: JSON.stringify(body) };
  }
  if (outcome.kind === 'unsigned') return { status: 401, code: '', headers: {}, body: UNSIGNED };
  if (outcome.kind === 'failed') return { ...errorResponse(FAILED, outcome.requestId), code: FAILED.code };
  const headers = rateLimitHeaders(outcome.rate);
  if (outcome.kind === 'limited') return { ...errorResponse({ ...LIMITED, headers }), code: LIMITED.code };
  const { code, label, details } = outcome.rejection;
  const error = { status: statusOf(code), label, code, details, headers };
  return { ...errorResponse(error, outcome.requestId), code };
}

const statusOf = (code: string): number => codeEntry(code, 'webhook')?.http ?? 500;
