import type { Metadata } from './metadata.ts';

export type MessageKind =
  | 'reaction'
  | 'sticker'
  | 'voice'
  | 'animation'
  | 'reply'
  | 'group'
  | 'attachment'
  | 'text';

const CONTENTS = ['reaction', 'sticker', 'voice', 'animation'] as const;

type ContentFields = Pick<Metadata, (typeof CONTENTS)[number] | 'reply_to' | 'is_group'>;

/**
 * Returns the kind under which the journal lists a message in either direction. What the message contains takes
 * precedence over the chat it belongs to, so a reply in a group is a `reply`.
 */
export function messageKind(metadata: ContentFields, hasAttachments: boolean): MessageKind {
  const content = CONTENTS.find((name) => metadata[name] !== undefined);
  if (content !== undefined) return content;
  if (metadata.reply_to !== undefined) return 'reply';
  if (metadata.is_group === true) return 'group';
  return hasAttachments ? 'attachment' : 'text';
}
