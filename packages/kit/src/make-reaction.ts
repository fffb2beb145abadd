import type { ClassicType, Metadata } from '@footbridge/protocol/metadata';
import { checkReaction, type InvalidMetadata } from '@footbridge/protocol/reactions';
import { makeFooter, type FooterOptions } from './footer.ts';

/** A reaction which the Mac is to add or to take back. */
export type ReactionRequest = {
  /** `chat_id` of an earlier inbound message of the same conversation. */
  readonly chatId: number;
  /** `message_guid` of the message to react to, or `target_message_guid` of an earlier reaction to it. */
  readonly target: string;
} & (
  | { readonly kind: 'classic'; readonly type: ClassicType; readonly action?: 'add' | 'remove' }
  | { readonly kind: 'emoji'; readonly emoji: string; readonly action?: 'add' | 'remove' }
  | { readonly kind: 'sticker'; readonly sticker: StickerImage; readonly action?: 'add' }
) &
  FooterOptions;

/** Base64 of a PNG or JPEG, or an https address of one. With both, the bytes are used. */
export type StickerImage = { readonly name?: string } & (
  | { readonly bytes: string; readonly url?: string }
  | { readonly url: string }
);

/** The request would have ended as `failed` with this code. */
export class ReactionRefused extends Error {
  readonly code: InvalidMetadata['code'];

  constructor(code: InvalidMetadata['code'], message: string) {
    super(message);
    this.name = 'ReactionRefused';
    this.code = code;
  }
}

/** The `message` of a webhook that adds or removes a reaction. Throws what the Mac would refuse. */
export function makeReaction(request: ReactionRequest): string {
  const { chatId, target, text, form, action = 'add', ...content } = request;
  const reaction = { ...content, action, target_message_guid: target };
  const metadata: Metadata = { chat_id: chatId, reaction };
  const checked = checkReaction(metadata);
  if (!checked.ok) throw new ReactionRefused(checked.code, checked.message);
  return makeFooter(metadata, { ...(text !== undefined && { text }), ...(form && { form }) });
}
