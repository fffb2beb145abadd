import { parseFooter } from '@footbridge/protocol/footer';
import { usableMessageId } from '@footbridge/protocol/ids';
import { checkReaction, checkSticker } from '@footbridge/protocol/reactions';
import { isWebUrl } from '@footbridge/protocol/schema';

/** The body of a webhook request. The bridge reads these fields only at the top level and under exactly these names. */
export interface OutboundMessage {
  readonly locationId: string;
  readonly contactId: string;
  /** The text, including its footer. Required unless there are `attachments`. */
  readonly message?: string;
  /** URLs of uploaded files. */
  readonly attachments?: readonly string[];
  /** The CRM's id of this message. Without it there are no status callbacks, and a request with the same bytes is not sent again for a day. */
  readonly messageId?: string;
  /** Optional if the bridge can look up the contact. */
  readonly phone?: string;
  readonly type?: 'SMS';
  /** The CRM user who triggered the message. Logged, not interpreted. */
  readonly userId?: string;
}

/** A problem with a message: the code with which it would have failed, and how to fix it. */
export interface Fault {
  readonly code: string;
  readonly field: string;
  readonly message: string;
}

export const MAX_MESSAGE_UNITS = 20_000;
const MAX_ATTACHMENTS = 20;

/** Removed field names, by the field that replaces them. A dot separates nested properties. */
export const REMOVED_ALIASES = {
  locationId: ['location.id', 'accountId'],
  contactId: ['contact.id'],
  messageId: ['id', 'message.id', 'payload.id'],
  message: ['body', 'text', 'message.body', 'payload.body', 'data.body', 'raw'],
  phone: [
    'number',
    'toNumber',
    'toPhone',
    'toPhoneNumber',
    'to',
    'contact.phone',
    'contact.phoneNumber',
    'customer.phone',
    'payload.phone',
    'payload.number',
    'data.phone',
    'data.number',
  ],
  attachments: ['payload.attachments', 'data.attachments', 'message.attachments'],
  conversationId: [
    'message.conversationId',
    'payload.conversationId',
    'conversationProviderId',
    'payload.conversationProviderId',
  ],
} as const;

/** Returns all problems that can be detected before sending a message. Never throws, even for a value of another type. */
export function checkMessage(message: unknown): Fault[] {
  if (typeof message !== 'object' || message === null || Array.isArray(message)) {
    return [
      {
        code: 'MISSING_REQUIRED_FIELDS',
        field: '',
        message: 'A message must be an object with locationId and contactId.',
      },
    ];
  }
  const body = { ...message } as Readonly<Record<string, unknown>>;
  return [
    ...aliasFaults(body),
    ...requiredFaults(body),
    ...attachmentFaults(body['attachments']),
    ...textFaults(body['message']),
    ...idFaults(body['messageId']),
    ...typeFaults(body['type']),
  ];
}

function aliasFaults(body: Readonly<Record<string, unknown>>): Fault[] {
  return Object.entries(REMOVED_ALIASES).flatMap(([field, aliases]) =>
    aliases
      .filter((alias) => has(body, alias.split('.')))
      .map((alias) => ({ code: 'MISSING_REQUIRED_FIELDS', field: alias, message: aliasHint(field, alias) })),
  );
}

function aliasHint(field: string, alias: string): string {
  if (field === 'conversationId')
    return `${alias} is no longer supported: a message is identified by its messageId. Remove it.`;
  return `${alias} is no longer supported: use ${field}, at the top level.`;
}

function has(value: unknown, [name = '', ...rest]: readonly string[]): boolean {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return false;
  const inner: unknown = Reflect.get(value, name);
  return rest.length === 0 ? inner !== undefined : has(inner, rest);
}

function requiredFaults(body: Readonly<Record<string, unknown>>): Fault[] {
  const missing = ['locationId', 'contactId'].filter((field) => !isFilled(body[field]));
  const faults = missing.map((field) => required(field, `${field} must be a non-blank string.`));
  const { message, attachments, phone } = body;
  if (message !== undefined && typeof message !== 'string') {
    faults.push(required('message', 'message must be a string, not an object.'));
  } else if (!isFilled(message) && !(Array.isArray(attachments) && attachments.length > 0)) {
    faults.push(required('message', 'message or attachments is required.'));
  }
  if (phone !== undefined && !isFilled(phone)) {
    faults.push(
      required('phone', 'phone must be a non-blank string; omit it to have the contact looked up.'),
    );
  }
  return faults;
}

function required(field: string, message: string): Fault {
  return { code: 'MISSING_REQUIRED_FIELDS', field, message };
}

function attachmentFaults(attachments: unknown): Fault[] {
  const invalid = (message: string): Fault[] => [
    { code: 'INVALID_ATTACHMENTS', field: 'attachments', message },
  ];
  if (attachments === undefined) return [];
  if (!Array.isArray(attachments)) return invalid('attachments must be an array of URLs.');
  if (attachments.length > MAX_ATTACHMENTS)
    return invalid(`attachments must contain at most ${MAX_ATTACHMENTS} URLs.`);
  const bad = attachments.findIndex((entry: unknown) => typeof entry !== 'string' || !isWebUrl(entry));
  return bad < 0 ? [] : invalid(`attachments[${bad}] must be an absolute http or https URL.`);
}

function textFaults(message: unknown): Fault[] {
  if (typeof message !== 'string') return [];
  const faults: Fault[] = [];
  if (message.length > MAX_MESSAGE_UNITS) {
    faults.push({
      code: 'MESSAGE_BODY_TOO_LONG',
      field: 'message',
      message: `message has ${message.length} UTF-16 code units including the footer; the limit is ${MAX_MESSAGE_UNITS}.`,
    });
  }
  const { metadata, problem } = parseFooter(message);
  if (problem !== undefined) {
    faults.push({
      code: 'INVALID_FRAME',
      field: 'message',
      message: `The Mac would not send this message: ${problem}.`,
    });
  }
  const checks = [
    ...(metadata?.reaction === undefined ? [] : [checkReaction(metadata)]),
    ...(metadata?.sticker === undefined ? [] : [checkSticker(metadata)]),
  ];
  for (const checked of checks) {
    if (!checked.ok) faults.push({ code: checked.code, field: 'message', message: checked.message });
  }
  return faults;
}

function idFaults(messageId: unknown): Fault[] {
  if (messageId === undefined || usableMessageId(messageId)) return [];
  const message =
    'messageId must be a string of 1 to 256 characters that is valid in a URL path, or be omitted.';
  return [{ code: 'INVALID_REQUEST', field: 'messageId', message }];
}

function typeFaults(type: unknown): Fault[] {
  if (type === undefined || type === 'SMS') return [];
  return [{ code: 'UNSUPPORTED_MESSAGE_TYPE', field: 'type', message: 'type must be SMS or be omitted.' }];
}

function isFilled(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}
