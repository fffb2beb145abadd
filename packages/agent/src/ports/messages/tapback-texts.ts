import type { ClassicType } from '@footbridge/protocol/metadata';

/**
 * The sentence that Messages writes where a reaction cannot be shown as one, in the language of whoever reacted.
 * Worded after the real ones; nobody may build on them.
 */
export type TapbackLocale = 'en' | 'nl';

interface Sentences {
  readonly add: Readonly<Record<ClassicType, string>>;
  readonly remove: Readonly<Record<ClassicType, string>>;
  readonly addEmoji: string;
  readonly removeEmoji: string;
  readonly addSticker: string;
  readonly removeSticker: string;
  readonly quote: (text: string) => string;
  readonly attachment: string;
}

const SENTENCES: Readonly<Record<TapbackLocale, Sentences>> = {
  en: {
    add: {
      love: 'Loved %@',
      like: 'Liked %@',
      dislike: 'Disliked %@',
      laugh: 'Laughed at %@',
      emphasize: 'Emphasized %@',
      question: 'Questioned %@',
    },
    remove: {
      love: 'Removed a heart from %@',
      like: 'Removed a like from %@',
      dislike: 'Removed a dislike from %@',
      laugh: 'Removed a laugh from %@',
      emphasize: 'Removed an exclamation from %@',
      question: 'Removed a question mark from %@',
    },
    addEmoji: 'Reacted %# to %@',
    removeEmoji: 'Removed a %# from %@',
    addSticker: 'Reacted with a sticker to %@',
    removeSticker: 'Removed a sticker from %@',
    quote: (text) => `“${text}”`,
    attachment: 'an attachment',
  },
  nl: {
    add: {
      love: 'Gaf een hartje aan %@',
      like: 'Vond %@ leuk',
      dislike: 'Vond %@ niet leuk',
      laugh: 'Lachte om %@',
      emphasize: 'Benadrukte %@',
      question: 'Zette een vraagteken bij %@',
    },
    remove: {
      love: 'Verwijderde een hartje van %@',
      like: 'Verwijderde een duim omhoog van %@',
      dislike: 'Verwijderde een duim omlaag van %@',
      laugh: 'Verwijderde een lach van %@',
      emphasize: 'Verwijderde een uitroepteken van %@',
      question: 'Verwijderde een vraagteken van %@',
    },
    addEmoji: 'Reageerde met %# op %@',
    removeEmoji: 'Verwijderde een %# van %@',
    addSticker: 'Reageerde met een sticker op %@',
    removeSticker: 'Verwijderde een sticker van %@',
    quote: (text) => `‘${text}’`,
    attachment: 'een bijlage',
  },
};

export type SpokenTapback =
  | { readonly kind: 'classic'; readonly type: ClassicType }
  | { readonly kind: 'emoji'; readonly emoji: string }
  | { readonly kind: 'sticker' };

export function tapbackText(
  tapback: SpokenTapback,
  action: 'add' | 'remove',
  target: string,
  locale: TapbackLocale,
): string {
  const words = SENTENCES[locale];
  const quoted = target === '' ? words.attachment : words.quote(target);
  if (tapback.kind === 'classic') return words[action][tapback.type].replace('%@', () => quoted);
  if (tapback.kind === 'sticker') {
    return (action === 'add' ? words.addSticker : words.removeSticker).replace('%@', () => quoted);
  }
  const sentence = action === 'add' ? words.addEmoji : words.removeEmoji;
  return sentence.replace('%#', () => tapback.emoji).replace('%@', () => quoted);
}
