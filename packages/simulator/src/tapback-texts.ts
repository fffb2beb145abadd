import type { ClassicType } from '@footbridge/protocol/metadata';

/** The language of the sender's device. */
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

export type TapbackDescription =
  | { readonly kind: 'classic'; readonly type: ClassicType }
  | { readonly kind: 'emoji'; readonly emoji: string }
  | { readonly kind: 'sticker' };

/**
 * Returns the text that Messages sends instead of a reaction to a device that cannot show it. Modelled on the real texts; not for parsing.
 */
export function tapbackText(
  tapback: TapbackDescription,
  action: 'add' | 'remove',
  target: string,
  locale: TapbackLocale,
): string {
  const sentences = SENTENCES[locale];
  const quoted = target === '' ? sentences.attachment : sentences.quote(target);
  if (tapback.kind === 'classic') return sentences[action][tapback.type].replace('%@', () => quoted);
  if (tapback.kind === 'sticker') {
    return (action === 'add' ? sentences.addSticker : sentences.removeSticker).replace('%@', () => quoted);
  }
  const sentence = action === 'add' ? sentences.addEmoji : sentences.removeEmoji;
  return sentence.replace('%#', () => tapback.emoji).replace('%@', () => quoted);
}
