import { describe, expect, it } from 'vitest';
import { messageKind } from './message-kind.ts';
import type { Metadata } from './metadata.ts';

const contents: Metadata = {
  reaction: { kind: 'classic', action: 'add', target_message_guid: 'g', type: 'love' },
  sticker: { guid: 's' },
  voice: { duration_ms: 900 },
  animation: { effect: 'slam', kind: 'bubble' },
};
const replyInGroup: Metadata = { reply_to: { message_guid: 'g' }, is_group: true };

describe('messageKind', () => {
  it.each(Object.entries(contents))(
    'a %s keeps its kind in a reply, in a group and with attachments',
    (kind, value) => {
      expect(messageKind({ ...replyInGroup, [kind]: value }, true)).toBe(kind);
    },
  );

  it.each<[string, string, Metadata, boolean]>([
    ['a reply in a group', 'reply', replyInGroup, true],
    ['a message in a group', 'group', { is_group: true }, true],
    ['an attachment outside a group', 'attachment', { is_group: false }, true],
    ['a plain text', 'text', {}, false],
  ])('%s is of kind %s', (_, kind, metadata, hasAttachments) => {
    expect(messageKind(metadata, hasAttachments)).toBe(kind);
  });
});
