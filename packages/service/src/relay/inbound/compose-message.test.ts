import { parseFooter } from '@footbridge/protocol/footer';
import type { MessageReceivedFrame } from '@footbridge/protocol/frames';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { composeMessage, kindOf, idempotencyKey } from './compose-message.ts';

const FRAME: MessageReceivedFrame = {
  type: 'message_received',
  seq: 1,
  guid: 'g1',
  sender: '+14155550100',
  service: 'iMessage',
  text: '',
  sentAt: '2026-01-01T00:00:00Z',
  chat: { id: 1, isGroup: true, recipients: ['+14155550100'] },
  attachments: [],
};

describe('the message for the CRM', () => {
  it('I3 keeps the text exactly, whatever it contains', () => {
    const lines = fc.constantFrom(
      '-- svc-metadata:v1 --',
      '-- end svc-metadata --',
      '{}',
      '[[SVMD:v1:e30=]]',
      'Hi',
      '',
    );
    const anyText = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.array(lines).map((some) => some.join('\n')),
    );
    fc.assert(
      fc.property(anyText, fc.boolean(), (text, isGroup) => {
        const message = composeMessage({ ...FRAME, text, chat: { ...FRAME.chat, isGroup } }, false);
        const read = parseFooter(message);
        expect(read.text).toBe(text);
        if (isGroup) expect(read.metadata).toMatchObject({ sender: FRAME.sender, message_guid: 'g1' });
        else expect(read.metadata === null || read.metadata.sender === FRAME.sender).toBe(true);
      }),
    );
  });

  it.each([
    [{}, 't'],
    [{ target_message_guid_raw: '' }, 't'],
    [{ target_message_guid_raw: 'p:0/t' }, 'p:0/t'],
  ])('F5 a reaction with %j has the raw target %j', (given, raw) => {
    const reaction = {
      kind: 'classic',
      action: 'add',
      type: 'love',
      target_message_guid: 't',
      ...given,
    } as const;
    const { metadata } = parseFooter(composeMessage({ ...FRAME, reaction }, false));
    expect(metadata?.reaction).toEqual({ ...reaction, target_message_guid_raw: raw });
  });

  it.each([
    ['reaction', { reaction: { kind: 'emoji', action: 'add', target_message_guid: 't' } }],
    ['sticker', { sticker: { guid: 's' } }],
    ['voice', { voice: {} }],
    ['animation', { animation: { effect: 'lasers', kind: 'screen' } }],
    ['group', {}],
    ['reply', { chat: { ...FRAME.chat, isGroup: false }, replyTo: { guid: 'b' } }],
    ['attachment', { chat: { ...FRAME.chat, isGroup: false }, attachments: ['https://a.example/b'] }],
    ['text', { chat: { ...FRAME.chat, isGroup: false } }],
  ] as const)('a message has the kind %s in the journal', (kind, fields) => {
    expect(kindOf({ ...FRAME, ...fields })).toBe(kind);
  });
});

describe('the key of a message', () => {
  it('I6 the key is a UUIDv5 that depends on location and guid alone', () => {
    const key = idempotencyKey('loc1', 'guid-1');
    expect(key).toMatch(/^[\da-f]{8}-[\da-f]{4}-5[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    expect(idempotencyKey('loc1', 'guid-1')).toBe(key);
    expect(new Set([key, idempotencyKey('loc2', 'guid-1'), idempotencyKey('loc1', 'guid-2')]).size).toBe(3);
  });
});
