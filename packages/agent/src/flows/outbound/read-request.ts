import { parseFooter } from '@footbridge/protocol/footer';
import type { SendFrame } from '@footbridge/protocol/frames';
import { knownFields } from '@footbridge/protocol/metadata';
import type { Metadata, Voice } from '@footbridge/protocol/metadata';
import { checkReaction, checkSticker } from '@footbridge/protocol/reactions';
import type { OutboundReaction, OutboundSticker } from '@footbridge/protocol/reactions';

import { refused } from './outcome.ts';
import type { Refused } from './outcome.ts';

/** Where a message is to go, as far as the request says so. */
export interface Address {
  readonly phone: string;
  readonly channel: 'imessage' | 'sms';
  readonly chatId: number | undefined;
  readonly isGroup: boolean | undefined;
  readonly recipients: readonly string[] | undefined;
}

interface MessageWork {
  readonly text: string;
  readonly attachments: readonly string[];
  readonly replyTo: string | undefined;
  readonly address: Address;
}

/** One kind of job each. */
export type Work =
  | ({ readonly kind: 'text' } & MessageWork)
  | ({ readonly kind: 'attachments' } & MessageWork)
  | ({ readonly kind: 'voice'; readonly voice: Voice } & MessageWork)
  | ({
      readonly kind: 'animation';
      readonly effect: string;
      readonly effectKind: string | undefined;
    } & MessageWork)
  | { readonly kind: 'reaction'; readonly chatId: number; readonly reaction: OutboundReaction }
  | { readonly kind: 'sticker'; readonly chatId: number; readonly sticker: OutboundSticker };

/**
 * Finds out what a request asks for. A footer that is there and cannot be read refuses the request: what looks like
 * text might be half of it (F4). With a reaction or a sticker the text is for the CRM's own log (F2).
 */
export function readRequest(frame: SendFrame): Work | Refused {
  const { text, metadata, problem } = parseFooter(frame.message ?? '');
  if (problem !== undefined) {
    return refused('INVALID_FRAME', `The metadata footer cannot be read: ${problem}. Nothing was sent.`);
  }
  const footer = metadata ?? {};
  if (Object.hasOwn(footer, 'reaction')) {
    const checked = checkReaction(footer);
    if (!checked.ok) return refused(checked.code, checked.message);
    return { kind: 'reaction', chatId: checked.chatId, reaction: checked.reaction };
  }
  if (Object.hasOwn(footer, 'sticker')) {
    const checked = checkSticker(footer);
    if (!checked.ok) return refused(checked.code, checked.message);
    return { kind: 'sticker', chatId: checked.chatId, sticker: checked.sticker };
  }
  return readMessage(frame, text, footer);
}

function readMessage(frame: SendFrame, text: string, footer: Metadata): Work | Refused {
  const known = knownFields(footer);
  const message: MessageWork = {
    text: text.trim() === '' ? '' : text,
    attachments: frame.attachments,
    replyTo: known.reply_to?.message_guid,
    address: {
      phone: frame.phone,
      channel: frame.channel,
      chatId: known.chat_id,
      isGroup: known.is_group,
      recipients: known.recipients,
    },
  };
  const animation = readAnimation(footer);
  if (animation !== undefined) {
    return {
      kind: 'animation',
      ...message,
      effect: animation.effect,
      effectKind: animation.kind,
    };
  }
  if (known.voice !== undefined) return { kind: 'voice', ...message, voice: known.voice };
  if (message.attachments.length > 0) return { kind: 'attachments', ...message };
  if (message.text === '') {
    return refused('INVALID_FRAME', 'Without its footer the message is empty and there is no attachment.');
  }
  return { kind: 'text', ...message };
}

/** More lenient than `knownFields`: the name of an effect tells its kind, so `kind` may be left out. */
function readAnimation(footer: Metadata): { effect: string; kind: string | undefined } | undefined {
  const animation: unknown = Object.hasOwn(footer, 'animation') ? footer.animation : undefined;
  if (typeof animation !== 'object' || animation === null || !('effect' in animation)) return undefined;
  const kind = 'kind' in animation && typeof animation.kind === 'string' ? animation.kind : undefined;
  return typeof animation.effect === 'string' ? { effect: animation.effect, kind } : undefined;
}
