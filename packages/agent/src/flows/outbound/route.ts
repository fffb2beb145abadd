import type { Destination, MessageStore, ServiceName } from '../../ports/messages/messages.ts';
import { failed } from './outcome.ts';
import type { Failed } from './outcome.ts';
import type { Address } from './read-request.ts';

/**
 * Resolves the destination of a message: a chat that this Mac knows, else the group of the recipients, else the phone. A
 * group message never falls back to a single person.
 */
export function route(address: Address, store: MessageStore): Destination | Failed {
  const service: ServiceName = address.channel === 'sms' ? 'SMS' : 'iMessage';
  const chat = address.chatId === undefined ? undefined : store.chat(address.chatId);
  if (chat !== undefined) {
    const [handle] = chat.recipients;
    // The webhook path selects the service of a direct chat. A group keeps its own.
    if (!chat.isGroup && service === 'SMS' && chat.service !== 'SMS' && handle !== undefined) {
      return { to: 'person', handle, service };
    }
    return { to: 'chat', chatId: chat.id };
  }
  const others = address.recipients
    ?.map(normalizeHandle)
    .filter((handle) => !store.ownHandles().includes(handle));
  if (address.isGroup === true || (others !== undefined && new Set(others).size > 1)) {
    return groupOf(others ?? [], service);
  }
  if (address.chatId !== undefined && address.isGroup !== false && others === undefined) {
    return failed('INVALID_FRAME', `chat_id ${address.chatId} does not exist on this Mac. Nothing was sent.`);
  }
  const handle = normalizeHandle(address.phone);
  if (!isHandle(handle))
    return failed(
      'INVALID_FRAME',
      'The phone is not a valid phone number or email address. Nothing was sent.',
    );
  return { to: 'person', handle, service };
}

function groupOf(recipients: readonly string[], service: ServiceName): Destination | Failed {
  const members = [...new Set(recipients)];
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

/** Formats a handle as Messages stores it: phone numbers without separators, email addresses in lower case. */
function normalizeHandle(handle: string): string {
  const trimmed = handle.trim();
  return trimmed.includes('@') ? trimmed.toLowerCase() : trimmed.replaceAll(/[\s().-]/g, '');
}

function isHandle(handle: string): boolean {
  return /^\+?\d{3,15}$/.test(handle) || /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(handle);
}
