import {
  badRequest,
  FOREIGN_LOCATION,
  forbidden,
  NO_MESSAGE,
  NOT_DOWNSTREAMED,
  ok,
  unauthorized,
  unprocessable,
} from './answers.ts';
import type { Answer } from './answers.ts';
import { compact, fieldsOf, newId, textOf, textsOf } from './reading.ts';
import type { Contact } from './shapes.ts';
import type { Asked, CrmState, Handle, OwnMessage } from './state.ts';

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

export const inbound: Handle = (state, asked) => {
  const key = asked.call.headers['idempotency-key'];
  const repeatable = state.settings.honourIdempotencyKey && key !== undefined;
  const scoped = `${asked.bearer?.locationId} ${key}`;
  const known = repeatable ? state.byIdempotencyKey.get(scoped) : undefined;
  if (known) return known;
  const answer = storeInbound(state, asked, key);
  if (repeatable && answer.status < 300) state.byIdempotencyKey.set(scoped, answer);
  return answer;
};

export const status: Handle = (state, { call, body, bearer, statusCall }) => {
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
  const message = ownMessage(state, messageId, bearer?.locationId);
  if (!message) return unauthorized(NO_MESSAGE);
  if (message.locationId !== undefined && message.locationId !== bearer?.locationId) {
    return forbidden(FOREIGN_LOCATION);
  }
  if (state.now() - message.createdAt < state.settings.statusWindowMs) return forbidden(NOT_DOWNSTREAMED);
  if (statusCall) Object.assign(statusCall, { accepted: true, acceptedAs: ++state.acceptances });
  return ok({ success: true, conversationId: message.conversationId, messageId, status: wanted });
};

export const upload: Handle = (state, { body, bearer }) => {
  if (!(body instanceof FormData)) return badRequest('Multipart: Boundary not found');
  const locationId = body.get('locationId');
  if (typeof locationId !== 'string') return badRequest('locationId is required');
  if (locationId !== bearer?.locationId) return forbidden(FOREIGN_LOCATION);
  if (!body.has('conversationId') && !body.has('contactId')) {
    return badRequest('conversationId or contactId is required');
  }
  const files = body.getAll('fileAttachment').filter((part) => part instanceof File);
  if (files.length === 0 && !body.has('attachmentUrls')) return uploadRefused(400, 'No files to upload');
  if (files.length > 5) return uploadRefused(400, 'Too many files: at most 5 in one request');
  if (files.some((file) => file.size > 5 * MEGABYTE)) return uploadRefused(413, 'File too large');
  if (files.some((file) => !UPLOADABLE.test(file.name))) return uploadRefused(415, 'File type not supported');
  const uploadedFiles: Record<string, string> = {};
  for (const file of files) {
    const url = `https://storage.crm.test/conversations/${newId()}/${encodeURIComponent(file.name)}`;
    uploadedFiles[file.name] = url;
    state.uploads.push({ name: file.name, type: file.type, size: file.size, url, locationId });
  }
  return ok({ uploadedFiles });
};

/** Which message a status is about. One the CRM never sent out counts from the first time it is mentioned. */
function ownMessage(
  state: CrmState,
  messageId: string,
  locationId: string | undefined,
): OwnMessage | undefined {
  const known = state.ownMessages.get(messageId);
  if (known || state.settings.strictMessages) return known;
  const made = { messageId, locationId, conversationId: newId(), createdAt: state.now() };
  state.ownMessages.set(messageId, made);
  return made;
}

function storeInbound(state: CrmState, { body, bearer }: Asked, idempotencyKey: string | undefined): Answer {
  const fields = fieldsOf(body);
  const type = textOf(fields['type']);
  if (!type || !INBOUND_TYPES.has(type)) return unprocessable('type must be a valid enum value');
  const locationId = bearer?.locationId;
  if (locationId === undefined) return forbidden(FOREIGN_LOCATION);
  const named = textOf(fields['locationId']);
  if (named !== undefined && named !== locationId) return forbidden(FOREIGN_LOCATION);
  const refusal = checkProvider(
    state,
    type,
    textOf(fields['conversationProviderId']),
    bearer?.kind === 'pit',
  );
  if (refusal) return refusal;
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
    conversationId: state.book.conversationOf(contact.id),
    contactId: contact.id,
    locationId,
    type,
    message,
    attachments,
    direction: textOf(fields['direction']) ?? 'outbound',
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

function contactFor(state: CrmState, fields: Record<string, unknown>): Contact | Answer {
  const contactId = textOf(fields['contactId']);
  const conversationId = textOf(fields['conversationId']);
  if (!contactId && !conversationId) return badRequest('Either conversationId or contactId is required');
  const contact = contactId
    ? state.book.byId(contactId)
    : state.book.contactOfConversation(conversationId ?? '');
  if (contact) return contact;
  return badRequest(contactId ? `Contact with id ${contactId} not found` : 'Conversation not found');
}

function checkProvider(
  state: CrmState,
  type: string,
  providerId: string | undefined,
  isPit: boolean,
): Answer | undefined {
  const { provider } = state.settings;
  if (providerId !== undefined && isPit) {
    return badRequest(`You don't have access to the conversationProvider with id: ${providerId}`);
  }
  if (provider.kind === 'default') {
    if (providerId !== undefined) return badRequest('Invalid conversationProviderId');
    // Reported of the real one: a custom type without provider id gets 201, an empty body, and is not stored.
    return type === 'Custom' ? { status: 201 } : undefined;
  }
  if (providerId === undefined) {
    return type === 'Custom' ? { status: 201 } : badRequest('No conversationProviderId passed in body');
  }
  if (providerId !== provider.id) return badRequest('Invalid conversationProviderId');
  return type === 'Custom' ? undefined : badRequest('Incorrect conversationProviderId/type');
}

function uploadRefused(code: 400 | 413 | 415, message: string): Answer {
  return { status: code, body: { status: code, message } };
}
