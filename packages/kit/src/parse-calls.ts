import { parseFooter } from '@footbridge/protocol/footer';
import { messageKind, type MessageKind } from '@footbridge/protocol/message-kind';
import type { Metadata } from '@footbridge/protocol/metadata';
import { readJson } from '@footbridge/protocol/read-json';
import { checkAgainst, type Checked } from '@footbridge/protocol/schema';
import type { MessageStatus } from './status.ts';

/** A message that the bridge adds to a conversation of the CRM. */
export interface InboundMessage {
  readonly locationId: string;
  readonly contactId: string;
  /** `SMS`, or the type that the operator configured. */
  readonly type: string;
  /** The message as received, with its footer. */
  readonly message: string;
  /** The text to show. */
  readonly text: string;
  readonly metadata: Metadata | null;
  readonly kind: MessageKind;
  /** URLs of files in web formats. */
  readonly attachments: readonly string[];
  /** `outbound` for a message that the owner of the Mac typed. */
  readonly direction: 'inbound' | 'outbound';
  /** The GUID of the message, if the operator set `CRM_SEND_ALT_ID`. */
  readonly altId?: string;
}

/** The status of a message that the CRM sent. */
export interface StatusUpdate {
  readonly status: MessageStatus;
  /** Why the message failed. */
  readonly error?: { readonly code: string; readonly message?: string };
  /** The GUID of the sent message, if the operator set `STATUS_WITH_GUID`. */
  readonly messageGuid?: string;
}

const text = { type: 'string' } as const;
const id = { type: 'string', minLength: 1, maxLength: 1024 } as const;

const INBOUND = {
  type: 'object',
  properties: {
    type: id,
    locationId: id,
    contactId: id,
    message: text,
    attachments: { type: 'array', items: text, maxItems: 1000 },
    direction: { type: 'string', enum: ['inbound', 'outbound'] },
    altId: text,
  },
  required: ['type', 'locationId', 'contactId', 'message'],
} as const;

const STATUS = {
  type: 'object',
  properties: {
    status: { type: 'string', enum: ['pending', 'delivered', 'failed'] },
    error: { type: 'object', properties: { code: id, message: text }, required: ['code'] },
    messageGuid: text,
  },
  required: ['status'],
} as const;

/** Reads the body of `POST /conversations/messages/inbound`, as text or already parsed. Ignores unknown fields. */
export function parseInbound(body: unknown): Checked<InboundMessage> {
  const checked = checkAgainst(INBOUND, jsonOf(body));
  if (!checked.ok) return checked;
  const { attachments = [], direction = 'inbound', ...rest } = checked.value;
  const footer = parseFooter(rest.message);
  const kind = messageKind(footer.metadata ?? {}, attachments.length > 0);
  const { text: shown, metadata } = footer;
  return { ok: true, value: { ...rest, attachments, direction, text: shown, metadata, kind } };
}

/** Reads the body of `PUT /conversations/messages/{messageId}/status`, as text or already parsed. Ignores unknown fields. */
export function parseStatus(body: unknown): Checked<StatusUpdate> {
  return checkAgainst(STATUS, jsonOf(body));
}

/** Returns the value of JSON text. Anything else is returned unchanged; text that is not JSON is undefined. */
export function jsonOf(body: unknown): unknown {
  return typeof body === 'string' ? readJson(body) : body;
}
