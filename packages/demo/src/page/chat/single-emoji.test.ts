import { describe, expect, it } from 'vitest';

import { singleEmoji } from './single-emoji.ts';

describe('singleEmoji', () => {
  it.each(['🦊', '☕', '👍🏽', '👩‍👩‍👧‍👦', '🇳🇱', '3️⃣', '❤️', ' 🎉 '])('accepts %s', (text) => {
    expect(singleEmoji(text)).toBe(text.trim());
  });

  it('adds the emoji form to a symbol', () => {
    expect(singleEmoji('❤')).toBe('❤️');
  });

  it.each(['', 'fox', 'a', '3', '#', '🦊🦊', '🦊 fox', ':)', '‼fox', '\u200D'])('rejects %j', (text) => {
    expect(singleEmoji(text)).toBeUndefined();
  });
});
