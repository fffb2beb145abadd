import type { ClassicType } from '@footbridge/kit';
import type { ComponentChildren } from 'preact';

import type { StickerName } from '../generated-files.ts';

/** A message bubble, on either side. */
export interface ChatItem {
  readonly id: string;
  readonly at: number;
  readonly isMine: boolean;
  readonly author: string;
  readonly text: string;
  /** The stored text including its footer, for the raw view. */
  readonly raw?: string;
  readonly files: readonly ShownFile[];
  readonly voice?: { readonly durationMs: number | undefined };
  readonly isSticker?: boolean;
  readonly effect?: string;
  readonly replyTo?: string;
  readonly isSms?: boolean;
  readonly reactions: readonly DrawnReaction[];
  /** The target of a reaction. Without it, the message cannot be reacted to. */
  readonly target?: { readonly chatId: number; readonly guid: string };
  readonly below?: ComponentChildren;
  /** The content of `below` as text, for screen readers. */
  readonly state?: string;
}

export interface ShownFile {
  readonly name: string;
  readonly mime: string;
  readonly url: string | undefined;
}

export interface DrawnReaction {
  readonly by: string;
  readonly isOwn: boolean;
  readonly type?: ClassicType;
  readonly emoji?: string;
  readonly image?: string | undefined;
}

export type Tapback =
  | { readonly kind: 'classic'; readonly type: ClassicType }
  | { readonly kind: 'emoji'; readonly emoji: string }
  | { readonly kind: 'sticker'; readonly sticker: StickerName };

/** Returns whether the user has already set this reaction. Choosing it again removes it. */
export function isSet(item: ChatItem, tapback: Tapback): boolean {
  return item.reactions.some(
    (reaction) =>
      reaction.isOwn &&
      (tapback.kind === 'classic'
        ? reaction.type === tapback.type
        : tapback.kind === 'emoji' && reaction.emoji === tapback.emoji),
  );
}
