import type { ShownReaction } from '@footbridge/kit';

import type { ChatItem, DrawnReaction } from '../chat/chat-item.ts';
import { stickerUrl } from '../generated-files.ts';
import { nameOf } from '../people.ts';
import { Status } from './status.tsx';
import type { InboxItem, Outcome, Thread } from './threads.ts';

/** Returns the bubbles of a CRM conversation. Reactions are drawn on their targets; in the raw view they are messages. */
export function inboxItems({ items, chatId }: Thread, isRaw: boolean): ChatItem[] {
  const texts = new Map(
    items.flatMap(({ guid, text }): [string, string][] => (guid === undefined ? [] : [[guid, text]])),
  );
  return items
    .filter((item) => isRaw || !isDrawnElsewhere(item, texts))
    .map((item) => {
      const { metadata, guid, outcome, attachments } = item;
      const replyTo = texts.get(metadata?.reply_to?.message_guid ?? '');
      return {
        id: item.id,
        at: item.at,
        isMine: item.direction === 'out',
        author: nameOf(item.sender),
        text: item.text || reactionText(item),
        raw: item.raw === '' ? attachments.join('\n') : item.raw,
        files: [
          ...attachments.map((url) => ({ name: fileName(url), mime: mimeOf(url), url })),
          ...ownSticker(item),
        ],
        ...(metadata?.voice !== undefined && { voice: { durationMs: metadata.voice.duration_ms } }),
        isSticker: metadata?.sticker !== undefined,
        ...(metadata?.animation !== undefined && { effect: metadata.animation.effect }),
        ...(replyTo !== undefined && { replyTo }),
        reactions: item.reactions.map(drawn),
        ...(guid !== undefined && chatId !== undefined && { target: { chatId, guid } }),
        ...(outcome !== undefined && { below: <Status outcome={outcome} />, state: stateText(outcome) }),
      };
    });
}

/** A failed reaction is not drawn on its target, so it is shown as a message. */
function isDrawnElsewhere({ metadata, outcome }: InboxItem, texts: ReadonlyMap<string, string>): boolean {
  const target = metadata?.reaction?.target_message_guid;
  const failed = outcome?.state === 'failed' || outcome?.state === 'rejected';
  return target !== undefined && texts.has(target) && !failed;
}

/** The text of a reaction that is shown as a message. */
function reactionText({ metadata }: InboxItem): string {
  const { reaction } = metadata ?? {};
  return reaction === undefined ? '' : `Reaction: ${reaction.emoji ?? reaction.type ?? reaction.kind}`;
}

function ownSticker({ direction, metadata }: InboxItem) {
  const sticker = metadata?.sticker;
  if (direction === 'in' || typeof sticker?.bytes !== 'string') return [];
  return [
    { name: sticker.name ?? 'sticker', mime: 'image/png', url: `data:image/png;base64,${sticker.bytes}` },
  ];
}

function drawn(reaction: ShownReaction): DrawnReaction {
  return {
    by: nameOf(reaction.sender),
    isOwn: reaction.sender === 'us',
    ...(reaction.kind === 'classic' && { type: reaction.type }),
    ...(reaction.kind === 'emoji' && { emoji: reaction.emoji }),
    ...(reaction.kind === 'sticker' && {
      image: reaction.image ?? stickerUrl(reaction.sticker.name ?? ''),
    }),
  };
}

const stateText = ({ state, code }: Outcome): string => (code === undefined ? state : `${state}, ${code}`);

const fileName = (url: string): string => decodeURIComponent(url.split('/').at(-1) ?? url);

const KINDS: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
};

const mimeOf = (url: string): string =>
  KINDS[url.split('.').at(-1)?.toLowerCase() ?? ''] ?? 'application/octet-stream';
