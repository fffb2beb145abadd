import type { ClassicType } from '@footbridge/protocol/metadata';

/** How to draw the six Tapbacks: a symbol for the bubble, and a name for screen readers. An emoji reaction is its own symbol. */
export const TAPBACKS: Readonly<Record<ClassicType, { readonly symbol: string; readonly name: string }>> = {
  love: { symbol: '❤️', name: 'Heart' },
  like: { symbol: '👍', name: 'Thumbs up' },
  dislike: { symbol: '👎', name: 'Thumbs down' },
  laugh: { symbol: '😂', name: 'Ha ha' },
  emphasize: { symbol: '‼️', name: 'Exclamation' },
  question: { symbol: '❓', name: 'Question mark' },
};
