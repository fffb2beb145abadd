import { parseFooter } from '@footbridge/protocol/footer';
import type { SendFrame } from '@footbridge/protocol/frames';
import { knownFields } from '@footbridge/protocol/metadata';
import type { Metadata, Voice } from '@footbridge/protocol/metadata';
import { checkReaction, checkSticker } from '@footbridge/protocol/reactions';
import type { OutboundReaction, OutboundSticker } from '@footbridge/protocol/reactions';
import { failed } from '../../outcome.ts';
import type { Failed } from '../../outcome.ts';

/** The destination fields of a request, not yet resolved. */
export interface Address {
  readonly phone: string;
  readonly channel: 'imessage' | 'sms';
  readonly chatId: number | undefined;
  readonly isGroup: boolean | undefined;
  readonly recipients: readonly string[] | undefined;
  /** The sender of the message whose footer the CRM copied into this request. */
  readonly sender: string | undefined;
}

interface MessageRequest {
  readonly text: string;
  readonly attachments: readonly string[];
  readonly replyTo: string | undefined;
  readonly address: Address;
}

export type ParsedRequest =
  | ({ readonly kind: 'text' } & MessageRequest)
  | ({ readonly kind: 'attachments' } & MessageRequest)
  | ({ readonly kind: 'voice'; readonly voice: Voice } & MessageRequest)
  | ({
      readonly kind: 'animation';
      readonly effect: string;
      readonly effectKind: string | undefined;
    } & MessageRequest)
  | { readonly kind: 'reaction'; readonly address: Address; readonly reaction: OutboundReaction }
  | { readonly kind: 'sticker'; readonly address: Address; readonly sticker: OutboundSticker };

/**
 * Parses a request. Fails when its footer is malformed, because the text could contain parts of the footer (F4). The text of a reaction
 * or a sticker is only for the log of the CRM and is not sent (F2).
 */
export function readRequest(frame: SendFrame): ParsedRequest | Failed {
  const { text, metadata, problem } = parseFooter(frame.message ?? '');
  if (problem !== undefined) {
    return failed('INVALID_FRAME', `The metadata footer is invalid: ${problem}. Nothing was sent.`);
  }
  const footer = metadata ?? {};
  if (Object.hasOwn(footer, 'reaction')) {
    const checked = checkReaction(footer);
    if (!checked.ok) return failed(checked.code, checked.message);
    return { kind: 'reaction', address: addressOf(frame, footer), reaction: checked.reaction };
  }
  if (Object.hasOwn(footer, 'sticker')) {
    const checked = checkSticker(footer);
    if (!checked.ok) return failed(checked.code, checked.message);
    return { kind: 'sticker', address: addressOf(frame, footer), sticker: checked.sticker };
  }
  return readMessage(frame, text, footer);
}

function readMessage(frame: SendFrame, text: string, footer: Metadata): ParsedRequest | Failed {
  const known = knownFields(footer);
  const message: MessageRequest = {
    text: text.trim() === '' ? '' : text,
    attachments: frame.attachments,
    replyTo: known.reply_to?.message_guid,
    address: addressOf(frame, footer),
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
    return failed(
      'INVALID_FRAME',
      'The message has neither text nor attachments besides its footer. Nothing was sent.',
    );
  }
  return { kind: 'text', ...message };
}

function addressOf({ phone, channel }: SendFrame, footer: Metadata): Address {
  const { chat_id: chatId, is_group: isGroup, recipients, sender } = knownFields(footer);
  return { phone, channel, chatId, isGroup, recipients, sender };
}

/** Unlike `knownFields`, accepts an animation without `kind`: the name of the effect determines it. */
function readAnimation(footer: Metadata): { effect: string; kind: string | undefined } | undefined {
  const animation: unknown = Object.hasOwn(footer, 'animation') ? footer.animation : undefined;
  if (typeof animation !== 'object' || animation === null || !('effect' in animation)) return undefined;
  const kind = 'kind' in animation && typeof animation.kind === 'string' ? animation.kind : undefined;
  return typeof animation.effect === 'string' ? { effect: animation.effect, kind } : undefined;
}
