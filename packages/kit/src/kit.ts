export {
  checkMessage,
  MAX_MESSAGE_UNITS,
  REMOVED_ALIASES,
  type Fault,
  type OutboundMessage,
} from './outbound-message.ts';
export { makeFooter, parseFooter, stripFooter, type FooterOptions, type ReadFooter } from './footer.ts';
export { importPrivateKey, importPublicKey, type ImportedKey, type Scheme } from './keys.ts';
export { makeReaction, ReactionError, type ReactionRequest, type StickerImage } from './make-reaction.ts';
export {
  reactionsFor,
  reduceReactions,
  type ConversationMessage,
  type ReactionState,
  type ShownReaction,
  type ShownSticker,
} from './reduce-reactions.ts';
export {
  BridgeClient,
  sendMessage,
  type ClientOptions,
  type SendFailure,
  type SendOptions,
  type SendResult,
} from './send-message.ts';
export { SIGNATURE_HEADERS, signWebhook, type SignedWebhook, type SignOptions } from './sign-webhook.ts';
export { isRetryable, nextStatus, type MessageStatus, type RetryAdvice } from './status.ts';
export { verifyWebhook, type RequestHeaders, type TrustedKey, type VerifyResult } from './verify-webhook.ts';
export type { ClassicType, Metadata, Reaction } from '@footbridge/protocol/metadata';
