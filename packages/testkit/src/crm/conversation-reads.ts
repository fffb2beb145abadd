import { findSentMessage } from './conversation-routes.ts';
import { badRequest, FOREIGN_LOCATION, forbidden, ok, unprocessable } from './responses.ts';
import type { CrmState, Handler } from './state.ts';
import type { Contact, CrmSettings, StoredMessage } from './types.ts';

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;

/** Numbers and names of the types that providers create. */
const SMS = { type: 2, messageType: 'TYPE_SMS' };
const ADDED_CHANNEL = { type: 22, messageType: 'TYPE_CUSTOM_PROVIDER_SMS' };

/** `GET /conversations/search`, by contact only: the one filter that the service uses. */
export const conversations: Handler = (state, { call, identity }) => {
  const { locationId, contactId } = call.query;
  if (!locationId) return unprocessable('locationId must be a string');
  if (locationId !== identity?.locationId) return forbidden(FOREIGN_LOCATION);
  const found = state.contacts
    .search(locationId, (contact) => contactId === undefined || contact.id === contactId)
    .flatMap((contact) => conversationOf(state, contact) ?? []);
  return ok({ conversations: found.slice(0, limitOf(call.query['limit'])), total: found.length });
};

/**
 * `GET /conversations/{conversationId}/messages`, newest first. The documents show the list at the top level; HighLevel wraps it into
 * an object of the same name.
 */
export const messages: Handler = (state, { call, identity }) => {
  const conversationId = call.params['conversationId'] ?? '';
  const contact = state.contacts.contactOfConversation(conversationId);
  if (!contact) return badRequest('Conversation not found');
  if (contact.locationId !== identity?.locationId) return forbidden(FOREIGN_LOCATION);
  const { lastMessageId, limit } = call.query;
  const all = visibleMessages(state, conversationId).toReversed();
  const start = all.findIndex(({ messageId }) => messageId === lastMessageId) + 1;
  const page = all.slice(start, start + limitOf(limit));
  return ok({
    messages: {
      lastMessageId: page.at(-1)?.messageId ?? '',
      nextPage: start + page.length < all.length,
      messages: page.map((message) => messageBody(message, state.settings)),
    },
  });
};

/** `GET /conversations/messages/{id}`, for messages that the CRM sent. They have no status until the first one is accepted. */
export const message: Handler = (state, { call, identity }) => {
  const newest = state.now() - state.settings.readLagMs;
  const found = findSentMessage(state, call.params['id'] ?? '', identity?.locationId);
  if (found === undefined || found.createdAt > newest) return badRequest('Message not found');
  const { messageId, conversationId, createdAt, locationId = identity?.locationId } = found;
  if (locationId !== identity?.locationId) return forbidden(FOREIGN_LOCATION);
  const status = state.statuses
    .filter((told) => told.messageId === messageId && told.accepted && told.at <= newest)
    .toSorted((a, b) => (a.acceptedAs ?? 0) - (b.acceptedAs ?? 0))
    .at(-1)?.status;
  return ok({
    id: messageId,
    ...SMS,
    locationId,
    contactId: state.contacts.contactOfConversation(conversationId)?.id ?? '',
    conversationId,
    dateAdded: new Date(createdAt + state.settings.clockAheadMs).toISOString(),
    direction: 'outbound',
    ...(status !== undefined && { status }),
    contentType: 'text/plain',
  });
};

/** HighLevel's reads lag behind its writes. */
function visibleMessages(state: CrmState, conversationId: string): StoredMessage[] {
  const newest = state.now() - state.settings.readLagMs;
  return state.messages.filter((stored) => stored.conversationId === conversationId && stored.at <= newest);
}

function conversationOf(state: CrmState, { id, locationId, name = '', email = '', phone = '' }: Contact) {
  const conversationId = state.contacts.conversationOf(id);
  const last = visibleMessages(state, conversationId).at(-1);
  if (last === undefined) return undefined;
  return {
    id: conversationId,
    contactId: id,
    locationId,
    lastMessageBody: last.message,
    lastMessageType: typeOf(last).messageType,
    type: 'TYPE_PHONE',
    unreadCount: 1,
    fullName: name,
    contactName: name,
    email,
    phone,
  };
}

function messageBody(stored: StoredMessage, { clockAheadMs }: CrmSettings) {
  return {
    id: stored.messageId,
    ...typeOf(stored),
    locationId: stored.locationId,
    contactId: stored.contactId,
    conversationId: stored.conversationId,
    dateAdded: new Date(stored.at + clockAheadMs).toISOString(),
    body: stored.message,
    direction: stored.direction,
    status: 'delivered',
    contentType: 'text/plain',
    attachments: stored.attachments,
    source: 'app',
    ...(stored.altId === undefined ? {} : { altId: stored.altId }),
  };
}

const typeOf = ({ type }: StoredMessage) => (type === 'Custom' ? ADDED_CHANNEL : SMS);

function limitOf(given: string | undefined): number {
  const limit = Number(given ?? DEFAULT_LIMIT);
  return Number.isInteger(limit) && limit > 0 ? Math.min(limit, MAX_LIMIT) : DEFAULT_LIMIT;
}
