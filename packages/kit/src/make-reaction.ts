import type { ClassicType, Metadata } from '@footbridge/protocol/metadata';
import { checkReaction, type InvalidMetadata } from '@footbridge/protocol/reactions';
import { makeFooter, type FooterOptions } from './footer.ts';

/** A reaction for the Mac to add or remove. */
export type ReactionRequest = {
  /** `chat_id` of an earlier inbound message in the same conversation. */
  readonly chatId: number;
  /** `message_guid` of the message to react to, or `target_message_guid` of an earlier reaction to it. */
  readonly target: string;
} & (
  | { readonly kind: 'classic'; readonly type: ClassicType; readonly action?: 'add' | 'remove' }
  | { readonly kind: 'emoji'; readonly emoji: string; readonly action?: 'add' | 'remove' }
  | { readonly kind: 'sticker'; readonly sticker: StickerImage; readonly action?: 'add' }
) &
  FooterOptions;

/** A PNG or JPEG as base64 or as an https URL. `bytes` takes precedence over `url`. */
export type StickerImage = { readonly name?: string } & (
  | { readonly bytes: string; readonly url?: string }
  | { readonly url: string }
);

/** Thrown for an invalid reaction. `code` is the code with which the message would have failed. */
export class ReactionError extends Error {
  readonly code: InvalidMetadata['code'];

  constructor(code: InvalidMetadata['code'], message: string) {
    super(message);
    this.name = 'ReactionError';
    this.code = code;
  }
}

/** Returns the `message` field of a webhook that adds or removes a reaction. Throws a `ReactionError` if the Mac would reject it. */
export function makeReaction(request: ReactionRequest): string {
  const { chatId, target, text, form, action = 'add', ...content } = request;
  const reaction = { ...content, action, target_message_guid: target };
  const metadata: Metadata = { chat_id: chatId, reaction };
  const checked = checkReaction(metadata);
  if (!checked.ok) throw new ReactionError(checked.code, checked.message);
  return makeFooter(metadata, { ...(text !== undefined && { text }), ...(form && { form }) });
}
