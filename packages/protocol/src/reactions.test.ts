import { describe, expect, it } from 'vitest';
import type { Metadata } from './metadata.ts';
import { checkReaction, checkSticker, REQUIRED_FIELDS } from './reactions.ts';

type Json = Record<string, unknown>;

/** Parses the value as JSON, as a footer would be. */
const metadata = (value: Json): Metadata => JSON.parse(JSON.stringify(value)) as Metadata;

const love = { kind: 'classic', action: 'add', target_message_guid: 'g-1', type: 'love' };
const party = { kind: 'emoji', action: 'add', target_message_guid: 'g-1', emoji: '🎉' };
const cat = {
  kind: 'sticker',
  action: 'add',
  target_message_guid: 'g-1',
  sticker: { bytes: 'aGk=', name: 'cat' },
};

const reaction = (value: unknown, chatId: unknown = 42) =>
  checkReaction(metadata({ chat_id: chatId, reaction: value }));

describe('outbound reactions', () => {
  it.each(['love', 'like', 'dislike', 'laugh', 'emphasize', 'question'])(
    'F5 accepts a classic %s reaction, added and removed',
    (type) => {
      for (const action of ['add', 'remove']) {
        expect(reaction({ ...love, type, action })).toEqual({
          ok: true,
          chatId: 42,
          reaction: { kind: 'classic', action, targetGuid: 'g-1', type },
        });
      }
    },
  );

  it('F5 accepts an emoji reaction, added and removed', () => {
    for (const action of ['add', 'remove']) {
      expect(reaction({ ...party, action })).toMatchObject({
        ok: true,
        reaction: { kind: 'emoji', action, emoji: '🎉' },
      });
    }
  });

  it.each(['❤', '❤️', '👍🏽', '👨‍👩‍👧', '🇳🇱', '1️⃣', '#⃣', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', '©️', ' 🎉 '])(
    'F5 accepts the emoji %j',
    (emoji) => {
      expect(reaction({ ...party, emoji })).toMatchObject({ ok: true, reaction: { emoji: emoji.trim() } });
    },
  );

  it('F5 accepts an added sticker reaction', () => {
    expect(reaction(cat)).toMatchObject({
      ok: true,
      reaction: { kind: 'sticker', action: 'add', sticker: { from: 'bytes', bytes: 'aGk=', name: 'cat' } },
    });
  });

  it('F4 ignores unknown fields', () => {
    expect(reaction({ ...love, later: 1, sticker: 'x', emoji: 3 })).toMatchObject({ ok: true });
  });

  it.each([
    ['chat_id is missing', { reaction: love }],
    ['chat_id is a string', { chat_id: '42', reaction: love }],
    ['chat_id is a fraction', { chat_id: 4.2, reaction: love }],
    ['the target is missing', { chat_id: 1, reaction: { ...love, target_message_guid: undefined } }],
    ['the target is empty', { chat_id: 1, reaction: { ...love, target_message_guid: ' ' } }],
    ['the target is a number', { chat_id: 1, reaction: { ...love, target_message_guid: 7 } }],
    ['the target is too long', { chat_id: 1, reaction: { ...love, target_message_guid: 'x'.repeat(257) } }],
    ['the kind is missing', { chat_id: 1, reaction: { ...love, kind: undefined } }],
    ['the action is missing', { chat_id: 1, reaction: { ...love, action: undefined } }],
    ['the action is unknown', { chat_id: 1, reaction: { ...love, action: 'toggle' } }],
    ['there is no reaction', { chat_id: 1 }],
    ['the reaction is an array', { chat_id: 1, reaction: [love] }],
  ])('F7 INVALID_FRAME when %s', (_, value) => {
    expect(checkReaction(metadata(value))).toMatchObject({ ok: false, code: 'INVALID_FRAME' });
  });

  it.each([
    ['classic without type', { ...love, type: undefined }],
    ['classic with an empty type', { ...love, type: '' }],
    ['classic with an unknown type', { ...love, type: 'wow' }],
    ['classic with a method name as type', { ...love, type: 'toString' }],
    ['emoji without emoji', { ...party, emoji: undefined }],
    ['emoji with an empty emoji', { ...party, emoji: ' ' }],
    ['emoji with a word', { ...party, emoji: 'hello' }],
    ['emoji with a digit', { ...party, emoji: '1' }],
    ['emoji with text and an emoji', { ...party, emoji: 'a🎉' }],
    ['emoji with two emoji', { ...party, emoji: '🎉🎉' }],
    ['emoji with half a flag', { ...party, emoji: '\u{1F1F3}' }],
    ['sticker without sticker', { ...cat, sticker: undefined }],
    ['sticker with neither bytes nor url', { ...cat, sticker: { name: 'cat' } }],
    ['sticker with empty bytes', { ...cat, sticker: { bytes: '' } }],
    ['sticker with the guid of an inbound sticker', { ...cat, sticker: { guid: 'local' } }],
    ['sticker over http', { ...cat, sticker: { url: 'http://example.com/cat.png' } }],
    ['sticker removed', { ...cat, action: 'remove' }],
  ])('F7 INVALID_KIND_FIELD_COMBO for %s', (_, value) => {
    expect(reaction(value)).toMatchObject({ ok: false, code: 'INVALID_KIND_FIELD_COMBO' });
  });

  it.each(['memoji', 'Classic', 'constructor', '__proto__'])('F7 NOT_IMPLEMENTED for the kind %j', (kind) => {
    expect(reaction({ ...love, kind })).toMatchObject({ ok: false, code: 'NOT_IMPLEMENTED' });
  });

  it('F7 reports a problem with the kind first, then with the destination, then with the fields of the kind', () => {
    expect(checkReaction(metadata({ reaction: { kind: 'memoji' } }))).toMatchObject({
      code: 'NOT_IMPLEMENTED',
    });
    expect(checkReaction(metadata({ reaction: { kind: 'sticker', action: 'remove' } }))).toMatchObject({
      code: 'INVALID_FRAME',
    });
    expect(reaction({ kind: 'sticker', action: 'remove' })).toMatchObject({ code: 'INVALID_FRAME' });
  });

  it('F7 the error message names the required value and does not repeat the given one', () => {
    const refused = reaction({ ...love, type: 'SECRET' });
    expect(refused).toMatchObject({ message: expect.stringContaining('emphasize') as string });
    expect(JSON.stringify(refused)).not.toContain('SECRET');
    expect(REQUIRED_FIELDS.classic.sibling).toBe('type');
  });
});

describe('stickers', () => {
  it('F8 bytes take precedence over url, even over an invalid one', () => {
    const both = checkSticker(metadata({ chat_id: 1, sticker: { bytes: 'aGk=', url: 'ftp://x' } }));
    expect(both).toEqual({ ok: true, chatId: 1, sticker: { from: 'bytes', bytes: 'aGk=' } });
  });

  it('F8 accepts an https url and rejects any other', () => {
    const url = 'https://example.com/cat.png';
    expect(checkSticker(metadata({ chat_id: 1, sticker: { url, name: 'cat' } }))).toEqual({
      ok: true,
      chatId: 1,
      sticker: { from: 'url', url, name: 'cat' },
    });
    for (const bad of [
      'http://example.com/cat.png',
      'file:///etc/passwd',
      'cat.png',
      '//example.com/cat.png',
      'https://',
      7,
    ]) {
      expect(checkSticker(metadata({ chat_id: 1, sticker: { url: bad } }))).toMatchObject({
        code: 'INVALID_KIND_FIELD_COMBO',
      });
    }
  });

  it('F7 a standalone sticker requires a chat_id and an image', () => {
    expect(checkSticker(metadata({ sticker: { bytes: 'aGk=' } }))).toMatchObject({ code: 'INVALID_FRAME' });
    expect(checkSticker(metadata({ chat_id: 1 }))).toMatchObject({ code: 'INVALID_KIND_FIELD_COMBO' });
    expect(checkSticker(metadata({ chat_id: 1, sticker: 'cat' }))).toMatchObject({
      code: 'INVALID_KIND_FIELD_COMBO',
    });
  });
});
