import { messageKind } from '@footbridge/protocol/message-kind';
import type { MessageKind } from '@footbridge/protocol/message-kind';
import { carriesFooter, writeFooter } from '@footbridge/protocol/footer';
import type { MessageReceivedFrame } from '@footbridge/protocol/frames';
import type { InboundReaction, Metadata } from '@footbridge/protocol/metadata';
import { hash } from 'node:crypto';

/** The text for the CRM, with a footer where the text alone does not say everything (I3). */
export function composeMessage(
  frame: MessageReceivedFrame,
  footerOnPlainText: boolean,
  notes: readonly string[] = [],
): string {
  const plain = ['text', 'attachment'].includes(kindOf(frame));
  const wantsFooter = footerOnPlainText && frame.fromMe !== true;
  // A customer's text must never pass for our footer, so a text that looks like one gets a real one after it.
  if (plain && !wantsFooter && notes.length === 0 && !carriesFooter(frame.text)) return frame.text;
  return writeFooter(frame.text, {
    ...metadataOf(frame),
    ...(notes.length > 0 && { attachment_notes: notes }),
  });
}

/** The kind for the journal. */
export function kindOf(frame: MessageReceivedFrame): MessageKind {
  return messageKind(metadataOf(frame), frame.attachments.length > 0);
}

/** The raw target is always present: the plain GUID when the Mac gave none (F5). */
function withRawTarget(reaction: InboundReaction): InboundReaction {
  const { target_message_guid, target_message_guid_raw = '' } = reaction;
  return target_message_guid_raw === ''
    ? { ...reaction, target_message_guid_raw: target_message_guid }
    : reaction;
}

function metadataOf(frame: MessageReceivedFrame): Metadata {
  const { chat, reaction, sticker, voice, animation, replyTo } = frame;
  return {
    chat_id: chat.id,
    is_group: chat.isGroup,
    recipients: chat.recipients,
    sender: frame.sender,
    message_guid: frame.guid,
    service_name: frame.service,
    ...(reaction && { reaction: withRawTarget(reaction) }),
    ...(sticker && { sticker }),
    ...(voice && { voice }),
    ...(animation && { animation }),
    ...(replyTo && { reply_to: { message_guid: replyTo.guid } }),
  };
}

const NAMESPACE = Buffer.from('5b0ad6d4c1f64d0b9f0e6a1f7d3c2b18', 'hex');

/** A UUIDv5 of location and guid: the same message has the same key on every node and after every restart. */
export function idempotencyKey(locationId: string, guid: string): string {
  const digest = hash(
    'sha1',
    Buffer.concat([NAMESPACE, Buffer.from(`${locationId}\n${guid}`, 'utf8')]),
    'hex',
  );
  const version = `5${digest.slice(13, 16)}`;
  const variant = ((Number.parseInt(digest.slice(16, 18), 16) & 0x3f) | 0x80).toString(16);
  return [
    digest.slice(0, 8),
    digest.slice(8, 12),
    version,
    variant + digest.slice(18, 20),
    digest.slice(20, 32),
  ].join('-');
}
