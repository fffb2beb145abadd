import type { Destination, MessageStore, ServiceName } from '../../ports/messages/messages.ts';
import { findChat, withoutOwn } from './find-chat.ts';
import { isHandle, normalizeHandle } from './handles.ts';
import type { Address } from './read-request.ts';
import { failed } from '../../outcome.ts';
import type { Failed } from '../../outcome.ts';

/**
 * Resolves the destination of a message: the chat of its `chat_id`, else the group of the recipients, else the phone. A group
 * message never falls back to a single person.
 */
export function route(address: Address, store: MessageStore): Destination | Failed {
  const service: ServiceName = address.channel === 'sms' ? 'SMS' : 'iMessage';
  const chat = findChat(address, store);
  if (chat !== undefined) {
    const [handle] = chat.recipients;
    // The webhook path selects the service of a direct chat. A group keeps its own.
    if (!chat.isGroup && service === 'SMS' && chat.service !== 'SMS' && handle !== undefined) {
      return { to: 'person', handle, service };
    }
    return { to: 'chat', chatId: chat.id };
  }
  const others = new Set(withoutOwn(address.recipients ?? [], store).map(normalizeHandle));
  if (address.isGroup === true || others.size > 1) return groupOf([...others], service);
  const handle = normalizeHandle(address.phone);
  if (!isHandle(handle))
    return failed(
      'INVALID_FRAME',
      'The phone is not a valid phone number or email address. Nothing was sent.',
    );
  return { to: 'person', handle, service };
}

function groupOf(members: readonly string[], service: ServiceName): Destination | Failed {
  if (members.length < 2) {
    return failed(
      'IMESSAGE_GROUP_INVALID_RECIPIENTS',
      'A group needs a chat_id that exists on this Mac, or at least two recipients. Nothing was sent.',
    );
  }
  if (!members.every(isHandle)) {
    return failed(
      'IMESSAGE_GROUP_INVALID_RECIPIENTS',
      'A recipient is not a valid phone number or email address. Nothing was sent.',
    );
  }
  return { to: 'group', recipients: members, service };
}

/** Returns a failure when several groups have exactly these recipients, because the request does not say which one it means. */
export function checkGroup(destination: Destination, store: MessageStore): Failed | undefined {
  if (destination.to !== 'group') return undefined;
  if (store.groupOf(destination.recipients, destination.service) !== 'ambiguous') return undefined;
  return failed(
    'IMESSAGE_GROUP_INVALID_RECIPIENTS',
    'Several groups on this Mac have exactly these recipients. Name one by its chat_id. Nothing was sent.',
  );
}
