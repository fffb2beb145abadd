import type { Destination, MessageStore, ServiceName } from '../../ports/messages/messages.ts';
import { refused } from './outcome.ts';
import type { Refused } from './outcome.ts';
import type { Address } from './read-request.ts';

/**
 * Finds where a message goes. A conversation that this Mac knows wins; then the people of a group; then the phone.
 * A group's text never falls back to one person: what was meant for several is not whispered to one.
 */
export function route(address: Address, store: MessageStore): Destination | Refused {
  const service: ServiceName = address.channel === 'sms' ? 'SMS' : 'iMessage';
  const chat = address.chatId === undefined ? undefined : store.chat(address.chatId);
  if (chat !== undefined) {
    const [handle] = chat.recipients;
    // The path that was called decides about the service; a group keeps the one it was made with.
    if (!chat.isGroup && service === 'SMS' && chat.service !== 'SMS' && handle !== undefined) {
      return { to: 'person', handle, service };
    }
    return { to: 'chat', chatId: chat.id };
  }
  const others = address.recipients
    ?.map(plainHandle)
    .filter((handle) => !store.ownHandles().includes(handle));
  if (address.isGroup === true || (others !== undefined && new Set(others).size > 1)) {
    return groupOf(others ?? [], service);
  }
  if (address.chatId !== undefined && address.isGroup !== false && others === undefined) {
    return refused('INVALID_FRAME', `chat_id ${address.chatId} is not a conversation on this Mac.`);
  }
  const handle = plainHandle(address.phone);
  if (!isHandle(handle)) return refused('INVALID_FRAME', 'The phone is not an address Messages can send to.');
  return { to: 'person', handle, service };
}

function groupOf(recipients: readonly string[], service: ServiceName): Destination | Refused {
  const members = [...new Set(recipients)];
  if (members.length < 2) {
    return refused(
      'IMESSAGE_GROUP_INVALID_RECIPIENTS',
      'A group needs a chat_id that this Mac knows, or at least two recipients.',
    );
  }
  if (!members.every(isHandle)) {
    return refused(
      'IMESSAGE_GROUP_INVALID_RECIPIENTS',
      'The list of recipients holds something that is neither a phone number nor an email address.',
    );
  }
  return { to: 'group', recipients: members, service };
}

/** Phone numbers as Messages keeps them; email addresses in lower case. */
function plainHandle(handle: string): string {
  const trimmed = handle.trim();
  return trimmed.includes('@') ? trimmed.toLowerCase() : trimmed.replaceAll(/[\s().-]/g, '');
}

function isHandle(handle: string): boolean {
  return /^\+?\d{3,15}$/.test(handle) || /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(handle);
}
