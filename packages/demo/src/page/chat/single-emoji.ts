const EMOJI = emojiPattern();

/** Matches any emoji that Unicode recommends for interchange. Older browsers can only check how it begins. */
function emojiPattern(): RegExp {
  try {
    return new RegExp(String.raw`^\p{RGI_Emoji}$`, 'v');
  } catch {
    return /^[\p{Extended_Pictographic}\p{Regional_Indicator}]/u;
  }
}

/** Returns the text as an emoji, or undefined if it is not exactly one. A symbol such as ❤ gets its emoji form. */
export function singleEmoji(text: string): string | undefined {
  const trimmed = text.trim();
  const [first, ...others] = new Intl.Segmenter().segment(trimmed);
  if (first === undefined || others.length > 0) return undefined;
  return [trimmed, `${trimmed}\uFE0F`].find((candidate) => EMOJI.test(candidate));
}
