export {
  checkMessage,
  MAX_MESSAGE_UNITS,
  REMOVED_ALIASES,
  type Fault,
  type OutboundMessage,
} from './outbound-message.ts';
export { makeFooter, parseFooter, stripFooter, type FooterOptions, type ReadFooter } from './footer.ts';
export { importPrivateKey, importPublicKey, type ImportedKey, type Scheme } from './keys.ts';
export { makeReaction, ReactionRefused, type ReactionRequest, type StickerImage } from './make-reaction.ts';
export {
  reactionsFor,
  reduceReactions,
  type ReactingMessage,
  type ReactionState,
  type ShownReaction,
  type ShownSticker,
} from './reduce-reactions.ts';
export {
  BridgeClient,
  sendMessage,
  type ClientOptions,
  type NotSent,
  type SendOptions,
  type Sent,
} from './send-message.ts';
export { SIGNATURE_HEADERS, signWebhook, type SignedWebhook, type SignOptions } from './sign-webhook.ts';
export { isRetryable, nextStatus, type MessageStatus, type RetryAdvice } from './status.ts';
export { verifyWebhook, type RequestHeaders, type TrustedKey, type Verified } from './verify-webhook.ts';
export type { ClassicType, Metadata, Reaction } from '@footbridge/protocol/metadata';
