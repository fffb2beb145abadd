import { macosMajor } from '../../ports/messages/messages.ts';
import type { Environment } from '../../ports/messages/messages.ts';

/** The first macOS version with each feature (M5). The classic Tapbacks are in every supported version. */
export const MIN_MACOS = { stickers: 15, stickerReactions: 15, emojiReactions: 26 } as const;

const ALWAYS = ['text', 'groups', 'attachments', 'voice', 'animations', 'replies', 'reactions'];

/** Returns the capabilities that this Mac registers with. */
export function capabilitiesOf(environment: Environment): string[] {
  const major = macosMajor(environment);
  return [
    ...ALWAYS,
    ...(major >= MIN_MACOS.stickerReactions ? ['sticker-reactions'] : []),
    ...(major >= MIN_MACOS.stickers ? ['stickers'] : []),
    ...(major >= MIN_MACOS.emojiReactions ? ['emoji-reactions'] : []),
  ];
}
