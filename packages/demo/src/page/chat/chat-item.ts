import type { ClassicType } from '@footbridge/kit';
import type { ComponentChildren } from 'preact';

import type { StickerName } from '../made-files.ts';

/** A bubble, whichever side draws it. */
export interface ChatItem {
  readonly id: string;
  readonly isMine: boolean;
  readonly author: string;
  readonly text: string;
  /** As stored, footer and all; shown in the raw view. */
  readonly raw?: string;
  readonly files: readonly ShownFile[];
  readonly voice?: { readonly durationMs: number | undefined };
  readonly isSticker?: boolean;
  readonly effect?: string;
  readonly replyTo?: string;
  readonly isSms?: boolean;
  readonly reactions: readonly DrawnReaction[];
  /** Where a tapback on it would go; without it there can be none. */
  readonly target?: { readonly chatId: number; readonly guid: string };
  readonly below?: ComponentChildren;
  /** What `below` says, for those who listen. */
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

/** Tapping what is there already takes it away. */
export function isSet(item: ChatItem, tapback: Tapback): boolean {
  return item.reactions.some(
    (reaction) =>
      reaction.isOwn &&
      (tapback.kind === 'classic'
        ? reaction.type === tapback.type
        : tapback.kind === 'emoji' && reaction.emoji === tapback.emoji),
  );
}
