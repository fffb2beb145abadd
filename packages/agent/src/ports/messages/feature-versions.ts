/** The first macOS version with each feature (M5). The classic Tapbacks are in every supported version. */
export const MIN_MACOS = { stickers: 15, stickerReactions: 15, emojiReactions: 26 } as const;

const ALWAYS = ['text', 'groups', 'attachments', 'voice', 'animations', 'replies', 'reactions'];

/** Returns the capabilities of an engine that can do everything that a macOS version offers. */
export function capabilitiesSince(macos: string): string[] {
  const major = majorOf(macos);
  return [
    ...ALWAYS,
    ...(major >= MIN_MACOS.stickerReactions ? ['sticker-reactions'] : []),
    ...(major >= MIN_MACOS.stickers ? ['stickers'] : []),
    ...(major >= MIN_MACOS.emojiReactions ? ['emoji-reactions'] : []),
  ];
}

/** Returns 26 for `26.1`. */
export function majorOf(macos: string): number {
  return Number.parseInt(macos, 10);
}
