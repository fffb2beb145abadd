import type { RequestId } from '@footbridge/protocol/ids';

import type { SignedRequest } from '../keys/verify-signature.ts';

/** Which of the three paths was called (W1). */
export type Channel = 'imessage' | 'sms';

/** A complete webhook whose body, when it is JSON, was parsed (W14 has been checked). */
export interface WebhookRequest extends SignedRequest {
  readonly requestId: RequestId;
  readonly channel: Channel;
  /** In lower case; empty when there is none. */
  readonly contentType: string;
  /** The parsed body; undefined when it is empty or not `application/json`. */
  readonly body: unknown;
}

/** Only `application/json` is parsed, not `application/json-patch+json` or `application/jsonl` (W12). */
export function isPlainJson(contentType: string): boolean {
  if (contentType === 'application/json') return true;
  const end = contentType.indexOf(';');
  return end !== -1 && contentType.slice(0, end).trimEnd() === 'application/json';
}
