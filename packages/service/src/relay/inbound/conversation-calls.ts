import { readJson } from '@footbridge/protocol/read-json';
import { isObject } from '@footbridge/protocol/schema';
import type { Attempt, SendGuard } from '../../platform/retry/retry.ts';
import { failed, succeeded } from '../../platform/retry/retry.ts';
import type { CrmClient } from '../crm/crm-client.ts';

/** A message as the CRM shows it. */
export interface StoredMessage {
  readonly id: string;
  readonly isInbound: boolean;
  readonly text: string;
  readonly attachments: readonly string[];
  /** By our clock, at the latest: the difference to the CRM's is taken from the `Date` header of the same response. */
  readonly addedAt: number;
}

export interface MessagePage {
  /** The newest first. */
  readonly messages: readonly StoredMessage[];
  readonly hasMore: boolean;
}

/** The CRM's conversations. One attempt each; none rejects. */
export interface ConversationCalls {
  /** Resolves with all conversations of the contact, usually one. */
  find(locationId: string, contactId: string, guard: SendGuard): Promise<Attempt<readonly string[]>>;
  /** Resolves with the newest messages, or those before the message with the id `before`. */
  messages(
    locationId: string,
    conversationId: string,
    before: string | undefined,
    guard: SendGuard,
  ): Promise<Attempt<MessagePage>>;
}

/** A page of 20 messages of 20,000 characters, each written as `\uXXXX`, has 2.4 MB. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;
const PAGE_SIZE = 20;

/** The conversations of a contact and their messages. A response that does not match the request is a failure, never an empty list. */
export function createConversationCalls(client: CrmClient): ConversationCalls {
  return {
    find: (locationId, contactId, guard) =>
      client.attempt(
        {
          operation: 'find_conversation',
          locationId,
          bearer: 'any',
          method: 'GET',
          path: `/conversations/search?${new URLSearchParams({ locationId, contactId }).toString()}`,
          maxBodyBytes: MAX_PAGE_BYTES,
          read: (text, status) =>
            readConversations(readJson(text), locationId, contactId) ?? unusable(status),
        },
        guard,
      ),
    messages: (locationId, conversationId, before, guard) => {
      const page = { limit: String(PAGE_SIZE), ...(before !== undefined && { lastMessageId: before }) };
      return client.attempt(
        {
          operation: 'read_messages',
          locationId,
          bearer: 'any',
          method: 'GET',
          path: `/conversations/${encodeURIComponent(conversationId)}/messages?${new URLSearchParams(page).toString()}`,
          maxBodyBytes: MAX_PAGE_BYTES,
          read: (text, status, clockAheadMs) => {
            const read = readPage(readJson(text), { locationId, conversationId }, clockAheadMs());
            return read === undefined ? unusable(status) : succeeded(read);
          },
        },
        guard,
      );
    },
  };
}

const unusable = (status: number) =>
  failed('empty', { status, reason: 'the response is not what was requested' });

function readConversations(
  body: unknown,
  locationId: string,
  contactId: string,
): Attempt<readonly string[]> | undefined {
  const conversations = isObject(body) ? body['conversations'] : undefined;
  if (!Array.isArray(conversations)) return undefined;
  const ids = conversations.flatMap((conversation: unknown) =>
    isOf(conversation, { locationId, contactId }) ? (idOf(conversation) ?? []) : [],
  );
  // A CRM that ignores the filter does not say whether this contact has a conversation.
  return ids.length === conversations.length ? succeeded(ids) : undefined;
}

/** HighLevel wraps the documented list into an object named `messages`. */
function readPage(
  body: unknown,
  of: Readonly<Record<string, string>>,
  clockAheadMs: number,
): MessagePage | undefined {
  const outer = isObject(body) ? body : {};
  const list = isObject(outer['messages']) ? outer['messages'] : outer;
  const { messages: items, nextPage } = list;
  if (!Array.isArray(items)) return undefined;
  const messages: StoredMessage[] = [];
  for (const item of items as unknown[]) {
    const message = isOf(item, of) ? readMessage(item, clockAheadMs) : undefined;
    if (message === undefined) return undefined;
    messages.push(message);
  }
  return { messages, hasMore: nextPage === true };
}

function readMessage(item: Record<string, unknown>, clockAheadMs: number): StoredMessage | undefined {
  const id = idOf(item);
  const { dateAdded, direction, body = '', attachments = [] } = item;
  const addedAt = typeof dateAdded === 'string' ? Date.parse(dateAdded) : Number.NaN;
  if (id === undefined || Number.isNaN(addedAt)) return undefined;
  return {
    id,
    isInbound: direction === 'inbound',
    // Calls and emails have no body here.
    text: typeof body === 'string' ? body : '',
    attachments: Array.isArray(attachments) ? attachments.map(String) : [],
    addedAt: addedAt - clockAheadMs,
  };
}

const isOf = (value: unknown, owner: Readonly<Record<string, string>>): value is Record<string, unknown> =>
  isObject(value) &&
  Object.entries(owner).every(([name, id]) => value[name] === undefined || value[name] === id);

const idOf = ({ id }: Record<string, unknown>) => (typeof id === 'string' && id !== '' ? id : undefined);
