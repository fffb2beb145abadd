import { describe, expect, it } from 'vitest';
import { makeReaction, ReactionError, type ReactionRequest } from './make-reaction.ts';
import { parseFooter } from './footer.ts';
import { reactionsFor, reduceReactions } from './reduce-reactions.ts';

const place = { chatId: 42, target: 'g-1' } as const;

describe('makeReaction', () => {
  it.each<[string, ReactionRequest, object]>([
    [
      'a Tapback',
      { ...place, kind: 'classic', type: 'love' },
      { kind: 'classic', action: 'add', type: 'love' },
    ],
    [
      'the removal of a Tapback',
      { ...place, kind: 'classic', type: 'love', action: 'remove' },
      { action: 'remove' },
    ],
    ['an emoji', { ...place, kind: 'emoji', emoji: '🎉' }, { kind: 'emoji', action: 'add', emoji: '🎉' }],
    [
      'a sticker',
      { ...place, kind: 'sticker', sticker: { bytes: 'aGk=' } },
      { kind: 'sticker', sticker: { bytes: 'aGk=' } },
    ],
  ])('F7 %s has the fields that its kind requires', (_, request, reaction) => {
    expect(parseFooter(makeReaction(request)).metadata).toMatchObject({
      chat_id: 42,
      reaction: { target_message_guid: 'g-1', ...reaction },
    });
  });

  it('F2 puts the text before the footer and writes the requested form', () => {
    const message = makeReaction({
      ...place,
      kind: 'emoji',
      emoji: '🎉',
      text: 'Reacted 🎉',
      form: 'sentinel',
    });
    expect(parseFooter(message)).toMatchObject({ text: 'Reacted 🎉', form: 'sentinel' });
    expect(message).toMatch(/^Reacted 🎉\n\[\[SVMD:v1:/);
  });

  it.each([
    ['INVALID_FRAME', { chatId: '42', target: 'g-1', kind: 'classic', type: 'love' }],
    ['INVALID_FRAME', { chatId: 42, target: '', kind: 'classic', type: 'love' }],
    ['INVALID_KIND_FIELD_COMBO', { ...place, kind: 'classic' }],
    ['INVALID_KIND_FIELD_COMBO', { ...place, kind: 'sticker', sticker: { url: 'http://example.com/a.png' } }],
    ['INVALID_KIND_FIELD_COMBO', { ...place, kind: 'sticker', sticker: { bytes: 'aGk=' }, action: 'remove' }],
    ['NOT_IMPLEMENTED', { ...place, kind: 'memoji' }],
  ])('F7 throws %s for an invalid reaction', (code, request) => {
    const make = () => makeReaction(JSON.parse(JSON.stringify(request)) as ReactionRequest);
    expect(make).toThrow(ReactionError);
    expect(make).toThrow(expect.objectContaining({ code }) as Error);
  });

  it('F9 a reaction sent by the CRM is drawn with the sender that the caller passes', () => {
    const message = makeReaction({ ...place, kind: 'classic', type: 'love' });
    expect(reactionsFor(reduceReactions({}, { message, sender: 'me' }), 'g-1')).toEqual([
      { sender: 'me', kind: 'classic', type: 'love' },
    ]);
  });
});
