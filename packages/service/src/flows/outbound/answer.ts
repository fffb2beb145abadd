import { codeEntry } from '@footbridge/protocol/codes';
import type { WebhookCode } from '@footbridge/protocol/codes';
import type { LocationId, RequestId } from '@footbridge/protocol/ids';

import type { Verdict } from '../../ports/limits/limits.ts';
import { rateLimitHeaders } from '../../ports/limits/rate-limit-headers.ts';
import type { Refusal } from './refusal.ts';
import type { SignatureFault } from './verify-signature.ts';
import type { Channel } from './webhook-request.ts';

/** What goes back, ready to be written. The edge adds the request id and the length. */
export interface WebhookAnswer {
  readonly status: number;
  /** Of the catalogue; empty where the contract gives none. */
  readonly code: WebhookCode | '';
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body: string;
  readonly signatureFault?: SignatureFault;
}

const SENT: Record<Channel, string> = { imessage: 'Message sent to iMessage', sms: 'Message sent to SMS' };
const UNAVAILABLE_SEC = 5;

export function sent(
  accepted: {
    readonly requestId: RequestId;
    readonly channel: Channel;
    readonly messageId: string | null;
    readonly locationId: LocationId;
  },
  rate: Verdict,
): WebhookAnswer {
  const { requestId, channel, messageId, locationId } = accepted;
  return {
    status: 200,
    code: '',
    headers: rateLimitHeaders(rate),
    body: JSON.stringify({ status: 'success', requestId, message: SENT[channel], messageId, locationId }),
  };
}

/** S1: whatever was wrong, the same bytes. */
export function invalidSignature(signatureFault: SignatureFault): WebhookAnswer {
  return {
    status: 401,
    code: '',
    headers: NO_HEADERS,
    body: '{"error":"Invalid signature"}',
    signatureFault,
  };
}

export function tooManyRequests(rate: Verdict): WebhookAnswer {
  const body = {
    error: 'TOO_MANY_REQUESTS',
    code: 'TOO_MANY_REQUESTS',
    message: 'Too many webhook requests for this location',
  };
  return {
    status: 429,
    code: 'TOO_MANY_REQUESTS',
    headers: rateLimitHeaders(rate),
    body: JSON.stringify(body),
  };
}

export function refused({ status, code, label, details }: Refusal, rate: Verdict): WebhookAnswer {
  const headers = rateLimitHeaders(rate);
  if (status === 503) headers['Retry-After'] = String(UNAVAILABLE_SEC);
  return { status, code, headers, body: JSON.stringify({ error: label, code, ...details }) };
}

/** W19: nothing about the cause leaves the service but the id under which it is logged. */
export function internalError(requestId: RequestId): WebhookAnswer {
  const { label = 'Internal error' } = codeEntry('INTERNAL_ERROR', 'webhook') ?? {};
  return {
    status: 500,
    code: 'INTERNAL_ERROR',
    headers: NO_HEADERS,
    body: JSON.stringify({ error: label, code: 'INTERNAL_ERROR', requestId }),
  };
}

const NO_HEADERS = {};
