import type { RequestId, LocationId, MessageId } from '@footbridge/protocol/ids';
import { asLocationId, usableMessageId } from '@footbridge/protocol/ids';
import { readTime } from '@footbridge/protocol/read-time';
import { parseTraceParent } from '@footbridge/protocol/traceparent';
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

/** The only fields that are read: own top-level properties with exactly these names (W3, W10). */
const NAMES = [
  'locationId',
  'contactId',
  'message',
  'attachments',
  'messageId',
  'phone',
  'type',
  'userId',
] as const;
/** Beyond the contract, and therefore not listed in a rejection. */
const REPLY_TO = 'replyToAltId';
const TIMES = ['timestamp', 'dateAdded'] as const;

/** The known fields of a body. A field that is blank or has the wrong type counts as absent (W4). */
export interface Fields {
  readonly locationId: LocationId | undefined;
  readonly contactId: string | undefined;
  readonly message: string | undefined;
  /** As given; undefined when absent. `null` and an empty list count as absent (W5). */
  readonly attachments: unknown;
  readonly phone: string | undefined;
  readonly userId: string | undefined;
  /** The altId of the message that a user replied to. */
  readonly replyToAltId: string | undefined;
  /** When the message was written, if the CRM says so. */
  readonly writtenAt: number | undefined;
  /** Usable in the path of a status call (A1). */
  readonly messageId: MessageId | undefined;
  /** Unchanged, for the response. */
  readonly givenMessageId: string | null;
  readonly type: { readonly value: unknown } | undefined;
}

// Far above any real id, and small enough for a frame.
const MAX_LOCATION_ID = 256;
const MAX_CONTACT_ID = 1024;
const MAX_GUID = 256;

/** The only field that matters before the signature is verified. */
export const pickLocation = (body: unknown): Fields['locationId'] =>
  asLocationId(text(own(body, 'locationId'), MAX_LOCATION_ID));

export function pickFields(body: unknown): Fields {
  const messageId = own(body, 'messageId');
  const attachments = own(body, 'attachments');
  return {
    locationId: pickLocation(body),
    contactId: text(own(body, 'contactId'), MAX_CONTACT_ID),
    message: text(own(body, 'message')),
    attachments: holdsNothing(attachments) ? undefined : attachments,
    phone: text(own(body, 'phone')),
    userId: text(own(body, 'userId')),
    replyToAltId: text(own(body, REPLY_TO), MAX_GUID),
    writtenAt: TIMES.map((name) => readTime(own(body, name))).find((at) => at !== undefined),
    messageId: usableMessageId(messageId),
    givenMessageId: typeof messageId === 'string' ? messageId : null,
    type: isRecord(body) && Object.hasOwn(body, 'type') ? { value: body['type'] } : undefined,
  };
}

/** Returns the known names that are present, whatever their values (W15). */
export function receivedNames(body: unknown): string[] {
  return NAMES.filter((name) => isRecord(body) && Object.hasOwn(body, name));
}

function own(
  body: unknown,
  name: (typeof NAMES)[number] | typeof REPLY_TO | (typeof TIMES)[number],
): unknown {
  return isRecord(body) && Object.hasOwn(body, name) ? body[name] : undefined;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const holdsNothing = (value: unknown): boolean =>
  value === null || (Array.isArray(value) && value.length === 0);

function text(value: unknown, max = Infinity): string | undefined {
  return typeof value === 'string' && value.length <= max && /\S/.test(value) ? value : undefined;
}

/** Returns the `traceparent` header if it is valid. */
export function callerOf({ headers }: Pick<WebhookRequest, 'headers'>): string | undefined {
  const { traceparent } = headers;
  return typeof traceparent === 'string' && parseTraceParent(traceparent) !== undefined
    ? traceparent
    : undefined;
}
