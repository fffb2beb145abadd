import type { RequestId } from '@footbridge/protocol/ids';

/** Which of the three paths was called (W1). */
export type Channel = 'imessage' | 'sms';

/** A webhook whose bytes are all there and whose JSON, if it is JSON, could be parsed (W14 is behind us). */
export interface WebhookRequest {
  readonly requestId: RequestId;
  readonly channel: Channel;
  /** In lower case; empty when there is none. */
  readonly contentType: string;
  /** By name in lower case, as Node gives them: repeated fields are joined by commas. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** What was signed. */
  readonly rawBody: Uint8Array;
  /** The parsed body; undefined when it is empty or not `application/json`. */
  readonly body: unknown;
  /** Where it came from, as limits count it. */
  readonly address: string;
}

/** The media type that is parsed. Its relatives (`application/json-patch+json`, `application/jsonl`) are not (W12). */
export function isPlainJson(contentType: string): boolean {
  if (contentType === 'application/json') return true;
  const end = contentType.indexOf(';');
  return end !== -1 && contentType.slice(0, end).trimEnd() === 'application/json';
}
