import type { Chat, Destination, MessageStore, ServiceName } from '../messages.ts';
import type { SendInput } from './programs/send.ts';
import { failed } from '../../../outcome.ts';
import type { Failed } from '../../../outcome.ts';

/** The recipient of an Apple event, and the service. */
export interface Target {
  readonly to: SendInput['target'];
  readonly service: ServiceName;
}

export function resolveTarget(destination: Destination, store: MessageStore): Target | Failed {
  if (destination.to === 'person')
    return { to: { person: destination.handle }, service: destination.service };
  const chat =
    destination.to === 'chat'
      ? store.chat(destination.chatId)
      : store.groupOf(destination.recipients, destination.service);
  if (typeof chat !== 'object') return noChat(destination);
  const [person] = chat.recipients;
  if (!chat.isGroup && person !== undefined) return { to: { person }, service: chat.service };
  return { to: { group: groupIds(chat), members: chat.recipients }, service: chat.service };
}

function noChat(destination: Destination): Failed {
  if (destination.to === 'group')
    return failed(
      'IMESSAGE_GROUP_INVALID_RECIPIENTS',
      'This Mac has no group with exactly these recipients, and this version cannot create one. Nothing was sent.',
    );
  return failed('IMESSAGE_ERROR', 'The chat does not exist on this Mac. Nothing was sent.');
}

/** Returns the ids that a group may have in Messages. Since macOS 26 the store has `any;+;…` where Messages may have `iMessage;+;…`. */
function groupIds({ key }: Chat): string[] {
  const identifier = key.slice(key.lastIndexOf(';') + 1);
  return [...new Set([key, `any;+;${identifier}`, `iMessage;+;${identifier}`, `SMS;+;${identifier}`])].filter(
    (id) => !id.startsWith('any;-;'),
  );
}
