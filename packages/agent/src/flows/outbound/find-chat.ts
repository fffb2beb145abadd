import type { Chat, Destination, MessageStore } from '../../ports/messages/messages.ts';
import { isEmail, isSameHandle } from './handles.ts';
import type { Address } from './read-request.ts';

/**
 * Returns the chat with the request's `chat_id`. Returns undefined when this store does not know the id. Also returns undefined when the
 * chat has other members than the request: it is another conversation, which must not be written to (M11).
 */
export function findChat(address: Address, store: MessageStore): Chat | undefined {
  const found = compareChat(address, store);
  return found?.members === 'same' ? found.chat : undefined;
}

/**
 * Returns the chat of a reaction or a sticker, whose only destination is its `chat_id`. Unlike a text, it also goes to a chat whose
 * members cannot be compared.
 */
export function findRequiredChat(address: Address, store: MessageStore): Chat | undefined {
  const found = compareChat(address, store);
  return found?.members === 'other' ? undefined : found?.chat;
}

function compareChat(
  address: Address,
  store: MessageStore,
): { chat: Chat; members: 'same' | 'other' | 'unknown' } | undefined {
  const chat = address.chatId === undefined ? undefined : store.chat(address.chatId);
  return chat && { chat, members: compareMembers(chat, address, store) };
}

function compareMembers(
  chat: Chat,
  { phone, recipients, sender }: Address,
  store: MessageStore,
): 'same' | 'other' | 'unknown' {
  const isMember = (handle: string): boolean =>
    chat.recipients.some((member) => isSameHandle(member, handle));
  const named = withoutOwn(recipients ?? [], store);
  if (!named.every(isMember)) return 'other';
  if (
    named.length > 0 &&
    !chat.recipients.every((member) => named.some((other) => isSameHandle(member, other)))
  ) {
    return 'other';
  }
  if (sender !== undefined && !isOwn(sender, store) && !isMember(sender)) return 'other';
  const isNamed = named.length > 0 || sender !== undefined;
  // A group has many members, and a contact with a phone may write from an email address: the footer names them.
  if (isNamed && (chat.isGroup || chat.recipients.every(isEmail))) return 'same';
  if (isMember(phone)) return 'same';
  return !isNamed && chat.recipients.some(isEmail) ? 'unknown' : 'other';
}

/** Returns the handles that are not this Mac's own. */
export function withoutOwn(handles: readonly string[], store: MessageStore): string[] {
  return handles.filter((handle) => !isOwn(handle, store));
}

function isOwn(handle: string, store: MessageStore): boolean {
  return store.ownHandles().some((own) => isSameHandle(own, handle));
}

/** Returns the person of a destination, or undefined for a group. */
export function personOf(destination: Destination, store: MessageStore): string | undefined {
  if (destination.to === 'person') return destination.handle;
  const chat = destination.to === 'chat' ? store.chat(destination.chatId) : undefined;
  return chat?.isGroup === false ? chat.recipients[0] : undefined;
}
