import { parseMacFrame, writeFrame } from '@footbridge/protocol/frames';
import type { MessageReceivedFrame } from '@footbridge/protocol/frames';
import { describe, expect, it } from 'vitest';

import type { Chat, StoredAttachment, StoredRow } from '../../ports/messages/messages.ts';
import { ANNA, TEXT_ROW } from '../../ports/messages/stored-row.fixture.ts';
import { buildReceivedFrame } from './build-received-frame.ts';

const CHAT: Chat = {
  id: 1,
  key: 'iMessage;-;+15550100001',
  isGroup: false,
  recipients: [ANNA],
  service: 'iMessage',
  services: ['iMessage'],
};
const FILE: StoredAttachment = {
  guid: 'FILE',
  path: '/a.caf',
  name: 'a.caf',
  mime: 'audio/x-caf',
  isSticker: false,
  description: undefined,
  state: 'ready',
};
const HEART = { type: 2000, targetGuid: 'TARGET', targetRaw: 'p:0/TARGET', emoji: undefined };

const INVALID_GUIDS = [
  ['empty', ''],
  ['too long', 'G'.repeat(257)],
] as const;

/** Returns the frame as the service reads it. */
function frameOf(row: Partial<StoredRow>, durationMs?: number): MessageReceivedFrame {
  const parts = { urls: [], durationMs, receivedAt: 0 };
  const frame = buildReceivedFrame({ ...TEXT_ROW, ...row }, CHAT, parts);
  const parsed = parseMacFrame(writeFrame({ ...frame, seq: 1 }));
  if (parsed.kind !== 'frame' || parsed.frame.type !== 'message_received')
    throw new Error(`not valid: ${JSON.stringify(parsed)}`);
  return parsed.frame;
}

describe('a received frame', () => {
  it.each([2 ** 64, Number.POSITIVE_INFINITY, Number.NaN])(
    'I8 has no duration when the voice message has %s ms',
    (ms) => {
      expect(frameOf({ isVoice: true, attachments: [FILE] }, ms).voice).toEqual({ mime_type: 'audio/x-caf' });
    },
  );

  it.each(INVALID_GUIDS)('I3 is not a reply when the guid of the original message is %s', (_, replyTo) => {
    expect(frameOf({ replyTo }).replyTo).toBeUndefined();
  });

  it.each(INVALID_GUIDS)('F5 is a text when the target of a reaction is %s', (_, targetGuid) => {
    const frame = frameOf({ text: 'Loved “Hi”', tapback: { ...HEART, targetGuid } });
    expect(frame).toMatchObject({ text: 'Loved “Hi”' });
    expect(frame.reaction).toBeUndefined();
  });

  it('F5 leaves out an emoji or a stored target that is too long', () => {
    const tapback = { ...HEART, type: 2006, targetRaw: 'p'.repeat(513), emoji: 'x'.repeat(65) };
    expect(frameOf({ tapback }).reaction).toEqual({
      kind: 'emoji',
      action: 'add',
      target_message_guid: 'TARGET',
    });
  });

  it('F6 has a sticker only if the sticker has a guid, and a sticker reaction has the guid of its target', () => {
    const attachments = [{ ...FILE, guid: '', isSticker: true }];
    expect(frameOf({ attachments }).sticker).toBeUndefined();
    const tapback = { ...HEART, type: 2007 };
    expect(frameOf({ tapback, attachments }).reaction?.sticker).toMatchObject({ guid: 'TARGET' });
  });
});
