import type { ClassicType } from '@footbridge/kit';

import type { ChatItem, DrawnReaction } from '../chat/chat-item.ts';
import { about } from '../events.ts';
import { stickerUrl } from '../generated-files.ts';
import { nameOf } from '../people.ts';
import type { PhoneChat, PhoneMessage, PhoneReaction } from '../types.ts';

const FROM_OTHER_MAC = 'Sent by the second Mac';

/** Returns the bubbles of a chat in the simulated Messages, from the customer's point of view. */
export function phoneItems({ id: chatId, messages }: PhoneChat): ChatItem[] {
  const customer = about.value?.customer ?? '';
  return messages.map((message) => ({
    id: message.guid,
    at: message.sentAt,
    isMine: message.from === customer,
    author: nameOf(message.from),
    text: message.text,
    files: message.attachments.map(({ name, mime, sha256 }) => ({
      name,
      mime,
      url: `./media/${sha256}/${encodeURIComponent(name)}`,
    })),
    ...(message.voice !== undefined && { voice: { durationMs: message.voice.durationMs } }),
    isSticker: message.sticker !== undefined,
    isSms: message.service === 'SMS',
    ...(message.effect !== undefined && { effect: message.effect }),
    ...quoted(messages, message),
    reactions: message.reactions.map((reaction) => drawn(reaction, customer)),
    ...(message.isFromOtherMac === true
      ? { below: FROM_OTHER_MAC, state: FROM_OTHER_MAC }
      : { target: { chatId, guid: message.guid } }),
  }));
}

function quoted(messages: readonly PhoneMessage[], { replyTo }: PhoneMessage): { replyTo?: string } {
  const original = messages.find(({ guid }) => guid === replyTo);
  return original === undefined ? {} : { replyTo: original.text };
}

function drawn({ from, type, emoji, sticker }: PhoneReaction, customer: string): DrawnReaction {
  return {
    by: nameOf(from),
    isOwn: from === customer,
    ...(type !== undefined && { type: type as ClassicType }),
    ...(emoji !== undefined && { emoji }),
    ...(sticker !== undefined && { image: stickerUrl(sticker.name) }),
  };
}
