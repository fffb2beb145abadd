import {
  badRequest,
  FOREIGN_LOCATION,
  forbidden,
  NO_MESSAGE,
  NOT_DOWNSTREAMED,
  ok,
  unauthorized,
  unprocessable,
} from './responses.ts';
import type { CrmResponse } from './responses.ts';
import { compact, fieldsOf, newId, textOf, textsOf } from './values.ts';
import type { Contact, TextChange } from './types.ts';
import type { HandlerRequest, CrmState, Handler, SentMessage } from './state.ts';

const INBOUND_TYPES = new Set(
  (
    'SMS RCS Email WhatsApp GMB IG FB Custom WebChat Live_Chat Call IVR_Call Campaign_Call Campaign_VoiceMail ' +
    'TIKTOK ALL_IN_ONE_CHAT FORM_SUBMISSION'
  ).split(' '),
);
const STATUSES = ['delivered', 'failed', 'pending', 'read'];
const MEGABYTE = 1024 * 1024;
const UPLOADABLE = new RegExp(
  '\\.(?:jpe?g|png|gif|svg|heic|ai|mp4|mpeg|3gp|mp3|wave?|aif[cf]?|aiff|gsm|ulaw|ogg|aac|m4a|amr' +
    '|pdf|docx?|txt|csv|xlsx?|pptx?|odt|zip|rar|vcf|vcard|ics)$',
  'i',
);

const TEXT_CHANGES: Record<TextChange, (text: string) => string> = {
  unchanged: (text) => text,
  trimmed: (text) => text.trim(),
  'lines trimmed': (text) => text.replaceAll(/[ \t]+$/gm, ''),
  'with LF for CRLF': (text) => text.replaceAll('\r\n', '\n'),
  'in NFC': (text) => text.normalize('NFC'),
};

export const inbound: Handler = (state, request) => {
  const key = request.call.headers['idempotency-key'];
  const isIdempotent = state.settings.honourIdempotencyKey && key !== undefined;
  const scopedKey = `${request.identity?.locationId} ${key}`;
  const earlier = isIdempotent ? state.byIdempotencyKey.get(scopedKey) : undefined;
  if (earlier) return earlier;
  const response = storeInbound(state, request, key);
  if (isIdempotent && response.status < 300) state.byIdempotencyKey.set(scopedKey, response);
  return response;
};

export const status: Handler = (state, { call, body, identity, statusCall }) => {
  const messageId = call.params['messageId'] ?? '';
  const fields = fieldsOf(body);
  const wanted = textOf(fields['status']);
  if (!wanted || !STATUSES.includes(wanted)) {
    return unprocessable(`status must be one of the following values: ${STATUSES.join(', ')}`);
  }
  const error = fields['error'];
  if (error !== undefined) {
    const parts = fieldsOf(error);
    const wrong = ['code', 'type', 'message'].filter((name) => typeof parts[name] !== 'string');
    if (wrong.length > 0) return unprocessable(...wrong.map((name) => `error.${name} must be a string`));
  }
  const message = findSentMessage(state, messageId, identity?.locationId);
  if (!message) return unauthorized(NO_MESSAGE);
  if (message.locationId !== undefined && message.locationId !== identity?.locationId) {
    return forbidden(FOREIGN_LOCATION);
  }
  if (state.now() - message.createdAt < state.settings.statusWindowMs) return forbidden(NOT_DOWNSTREAMED);
  if (statusCall) Object.assign(statusCall, { accepted: true, acceptedAs: ++state.acceptances });
  return ok({ success: true, conversationId: message.conversationId, messageId, status: wanted });
};

export const upload: Handler = (state, { body, identity }) => {
  if (!(body instanceof FormData)) return badRequest('Multipart: Boundary not found');
  const locationId = body.get('locationId');
  if (typeof locationId !== 'string') return badRequest('locationId is required');
  if (locationId !== identity?.locationId) return forbidden(FOREIGN_LOCATION);
  if (!body.has('conversationId') && !body.has('contactId')) {
    return badRequest('conversationId or contactId is required');
  }
  const files = body.getAll('fileAttachment').filter((part) => part instanceof File);
  if (files.length === 0 && !body.has('attachmentUrls')) return uploadError(400, 'No files to upload');
  if (files.length > 5) return uploadError(400, 'Too many files: at most 5 in one request');
  if (files.some((file) => file.size > 5 * MEGABYTE)) return uploadError(413, 'File too large');
  if (files.some((file) => !UPLOADABLE.test(file.name))) return uploadError(415, 'File type not supported');
  const uploadedFiles: Record<string, string> = {};
  for (const file of files) {
    const url = `https://storage.crm.test/conversations/${newId()}/${encodeURIComponent(file.name)}`;
    uploadedFiles[file.name] = url;
    state.uploads.push({ name: file.name, type: file.type, size: file.size, url, locationId });
  }
  return ok({ uploadedFiles });
};

/** Returns a message that the CRM sent. Unless messages are strict, an unknown id creates a message now. */
export function findSentMessage(
  state: CrmState,
  messageId: string,
  locationId: string | undefined,
): SentMessage | undefined {
  const found = state.sentMessages.get(messageId);
  if (found || state.settings.strictMessages) return found;
  const created = { messageId, locationId, conversationId: newId(), createdAt: state.now() };
  state.sentMessages.set(messageId, created);
  return created;
}

function storeInbound(
  state: CrmState,
  { body, identity }: HandlerRequest,
  idempotencyKey: string | undefined,
): CrmResponse {
  const fields = fieldsOf(body);
  const type = textOf(fields['type']);
  if (!type || !INBOUND_TYPES.has(type)) return unprocessable('type must be a valid enum value');
  const locationId = identity?.locationId;
  if (locationId === undefined) return forbidden(FOREIGN_LOCATION);
  const named = textOf(fields['locationId']);
  if (named !== undefined && named !== locationId) return forbidden(FOREIGN_LOCATION);
  const providerError = checkProvider(
    state,
    type,
    textOf(fields['conversationProviderId']),
    identity?.kind === 'pit',
  );
  if (providerError) return providerError;
  const contact = contactFor(state, fields);
  if ('status' in contact) return contact;
  if (contact.locationId !== locationId) return forbidden(FOREIGN_LOCATION);
  const message = textOf(fields['message']) ?? '';
  const attachments = textsOf(fields['attachments']);
  if (message === '' && attachments.length === 0) {
    return badRequest('There is no message or attachments for this message. Skip sending.');
  }
  const stored = compact({
    messageId: newId(),
    conversationId: state.contacts.conversationOf(contact.id),
    contactId: contact.id,
    locationId,
    type,
    message: TEXT_CHANGES[state.settings.storesText](message),
    attachments,
    // HighLevel logs a message as outbound only when `direction` says so, contrary to the documented default.
    direction: textOf(fields['direction']) ?? 'inbound',
    altId: textOf(fields['altId']),
    idempotencyKey,
    at: state.now(),
  });
  state.messages.push(stored);
  return ok(
    {
      success: true,
      conversationId: stored.conversationId,
      messageId: stored.messageId,
      message: 'Message added successfully',
      contactId: contact.id,
      dateAdded: new Date(stored.at).toISOString(),
    },
    201,
  );
}

function contactFor(state: CrmState, fields: Record<string, unknown>): Contact | CrmResponse {
  const contactId = textOf(fields['contactId']);
  const conversationId = textOf(fields['conversationId']);
  if (!contactId && !conversationId) return badRequest('Either conversationId or contactId is required');
  const contact = contactId
    ? state.contacts.byId(contactId)
    : state.contacts.contactOfConversation(conversationId ?? '');
  if (contact) return contact;
  return badRequest(contactId ? `Contact with id ${contactId} not found` : 'Conversation not found');
}

function checkProvider(
  state: CrmState,
  type: string,
  providerId: string | undefined,
  isPit: boolean,
): CrmResponse | undefined {
  const { provider } = state.settings;
  if (providerId !== undefined && isPit) {
    return badRequest(`You don't have access to the conversationProvider with id: ${providerId}`);
  }
  if (provider.kind === 'default') {
    if (providerId !== undefined) return badRequest('Invalid conversationProviderId');
    // Known behaviour of HighLevel: a Custom message without a provider id gets 201 with an empty body and is not stored.
    return type === 'Custom' ? { status: 201 } : undefined;
  }
  if (providerId === undefined) {
    return type === 'Custom' ? { status: 201 } : badRequest('No conversationProviderId passed in body');
  }
  if (providerId !== provider.id) return badRequest('Invalid conversationProviderId');
  return type === 'Custom' ? undefined : badRequest('Incorrect conversationProviderId/type');
}

function uploadError(code: 400 | 413 | 415, message: string): CrmResponse {
  return { status: code, body: { status: code, message } };
}
