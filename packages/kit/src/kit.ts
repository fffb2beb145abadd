export {
  checkMessage,
  MAX_MESSAGE_UNITS,
  REMOVED_ALIASES,
  type Fault,
  type OutboundMessage,
} from './outbound-message.ts';
export { issueToken, readToken, type TokenPurpose } from './crm-tokens.ts';
export { makeFooter, parseFooter, stripFooter, type FooterOptions, type ReadFooter } from './footer.ts';
export { importPrivateKey, importPublicKey, type ImportedKey, type Scheme } from './keys.ts';
export { makeReaction, ReactionError, type ReactionRequest, type StickerImage } from './make-reaction.ts';
export { parseInbound, parseStatus, type InboundMessage, type StatusUpdate } from './parse-calls.ts';
export { receiveCall, type Crm, type CrmCall, type CrmResponse } from './receive-call.ts';
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
export type { RequestHeaders } from './request-headers.ts';
export { TAPBACKS } from './tapbacks.ts';
export { verifyWebhook, type TrustedKey, type VerifyResult } from './verify-webhook.ts';
export type { MessageKind } from '@footbridge/protocol/message-kind';
export type { ClassicType, Metadata, Reaction } from '@footbridge/protocol/metadata';
