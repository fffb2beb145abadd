import type { Chat, Destination, MessageStore, ServiceName } from '../messages.ts';
import { failed } from '../../../outcome.ts';
import type { Failed } from '../../../outcome.ts';

/** The recipient of a call to the server: a chat by its GUID in the store, or people without a chat. */
export type Recipient =
  | { readonly chatGuid: string; readonly service: ServiceName }
  | { readonly addresses: readonly string[]; readonly service: 'iMessage' | 'SMS' };

/** The handles that the agent passes to the server, which never puts them into a command line. */
const HANDLE = /^(?:\+?\d{3,15}|[^\s@;"'\\]+@[^\s@;"'\\]+\.[^\s@;"'\\]+)$/;

/** Resolves a destination. The GUID always comes from the store: since macOS 26, it cannot be derived from the address. */
export function resolveRecipient(destination: Destination, store: MessageStore): Recipient | Failed {
  if (destination.to === 'chat') {
    const chat = store.chat(destination.chatId);
    if (chat === undefined)
      return failed('IMESSAGE_ERROR', 'The chat does not exist on this Mac. Nothing was sent.');
    return byGuid(chat);
  }
  if (destination.to === 'person') {
    const chat = store.directChat(destination.handle, destination.service);
    return chat !== undefined && selects(chat, destination.service)
      ? byGuid(chat, destination.service)
      : ofPeople([destination.handle], destination.service);
  }
  const group = store.groupOf(destination.recipients, destination.service);
  if (group === 'ambiguous')
    return failed(
      'IMESSAGE_GROUP_INVALID_RECIPIENTS',
      'Several groups on this Mac have exactly these recipients. Nothing was sent.',
    );
  return group === undefined ? ofPeople(destination.recipients, destination.service) : byGuid(group);
}

/**
 * Whether the GUID of a direct chat makes Messages use this service. For the prefix `any`, Messages decides: it prefers iMessage, and uses
 * SMS in a chat that never had any other service.
 */
function selects(chat: Chat, service: ServiceName): boolean {
  const [prefix] = chat.key.split(';');
  if (prefix !== 'any') return prefix === service;
  return service === 'iMessage'
    ? chat.services.includes(service)
    : chat.services.every((known) => known === service);
}

function byGuid(chat: Chat, service = chat.service): Recipient {
  return { chatGuid: chat.key, service };
}

function ofPeople(addresses: readonly string[], service: ServiceName): Recipient | Failed {
  if (service === 'RCS')
    return failed('IMESSAGE_ERROR', 'BlueBubbles cannot start a conversation by RCS. Nothing was sent.');
  if (!addresses.every((address) => HANDLE.test(address)))
    return failed(
      'INVALID_FRAME',
      'A recipient is not a phone number or an email address. Nothing was sent.',
    );
  return { addresses, service };
}
