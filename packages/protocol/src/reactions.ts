import {
  CLASSIC_TYPES,
  REACTION_KINDS,
  type ClassicType,
  type Metadata,
  type ReactionKind,
} from './metadata.ts';
import { isObject } from './schema.ts';

/** The fields that each kind of outbound reaction requires besides `kind` and `target_message_guid` (F7). */
export const REQUIRED_FIELDS = {
  classic: { actions: ['add', 'remove'], sibling: 'type', rule: `one of ${CLASSIC_TYPES.join(', ')}` },
  emoji: { actions: ['add', 'remove'], sibling: 'emoji', rule: 'exactly one emoji' },
  sticker: { actions: ['add'], sibling: 'sticker', rule: 'an object with bytes (base64) or an https url' },
} as const satisfies Record<ReactionKind, RequiredFields>;

interface RequiredFields {
  readonly actions: readonly ('add' | 'remove')[];
  readonly sibling: string;
  readonly rule: string;
}

/** A sticker image: base64, or an https URL from which the Mac downloads it. */
export type OutboundSticker =
  | { readonly from: 'bytes'; readonly bytes: string; readonly name?: string }
  | { readonly from: 'url'; readonly url: string; readonly name?: string };

type ReactionContent =
  | { readonly kind: 'classic'; readonly action: 'add' | 'remove'; readonly type: ClassicType }
  | { readonly kind: 'emoji'; readonly action: 'add' | 'remove'; readonly emoji: string }
  | { readonly kind: 'sticker'; readonly action: 'add'; readonly sticker: OutboundSticker };

export type OutboundReaction = { readonly targetGuid: string } & ReactionContent;

type Json = Record<string, unknown>;

export interface InvalidMetadata {
  readonly ok: false;
  readonly code: 'INVALID_FRAME' | 'INVALID_KIND_FIELD_COMBO' | 'NOT_IMPLEMENTED';
  readonly message: string;
}

export type CheckedReaction =
  | { readonly ok: true; readonly reaction: OutboundReaction; readonly chatId: number }
  | InvalidMetadata;

export type CheckedSticker =
  | { readonly ok: true; readonly sticker: OutboundSticker; readonly chatId: number }
  | InvalidMetadata;

/**
 * Validates the reaction of an outbound footer (F7). Only the first problem is reported, in this order: the kind, because
 * it determines the other rules; then `chat_id`, `target_message_guid` and `action`; then the fields that the kind requires.
 */
export function checkReaction(metadata: Metadata): CheckedReaction {
  const reaction: unknown = metadata.reaction;
  if (!isObject(reaction)) return invalid('INVALID_FRAME', 'The footer has no reaction object.');
  const { kind, action, target_message_guid: targetGuid } = reaction;
  if (!isText(kind)) return invalid('INVALID_FRAME', 'The reaction has no kind.');
  if (!isOneOf(REACTION_KINDS, kind)) {
    return invalid(
      'NOT_IMPLEMENTED',
      `This kind of reaction is not supported. Use one of ${REACTION_KINDS.join(', ')}.`,
    );
  }
  const chatId = chatIdOf(metadata);
  if (chatId === undefined) return NO_CHAT;
  if (!isText(targetGuid) || targetGuid.length > 256) {
    return invalid('INVALID_FRAME', 'The reaction has no target_message_guid.');
  }
  if (action !== 'add' && action !== 'remove') {
    return invalid('INVALID_FRAME', 'The action of a reaction must be add or remove.');
  }
  const content = readContent(kind, action, reaction);
  if (content) return { ok: true, chatId, reaction: { targetGuid, ...content } };
  const { actions, sibling, rule } = REQUIRED_FIELDS[kind];
  return invalid(
    'INVALID_KIND_FIELD_COMBO',
    isOneOf(actions, action)
      ? `A reaction of kind ${kind} requires ${sibling}: ${rule}.`
      : `A reaction of kind ${kind} cannot be removed.`,
  );
}

function readContent(
  kind: ReactionKind,
  action: 'add' | 'remove',
  reaction: Json,
): ReactionContent | undefined {
  const { type, emoji } = reaction;
  if (kind === 'classic') return isOneOf(CLASSIC_TYPES, type) ? { kind, action, type } : undefined;
  if (kind === 'emoji') return isEmoji(emoji) ? { kind, action, emoji: emoji.trim() } : undefined;
  const sticker = readSticker(reaction['sticker']);
  return action === 'add' && sticker ? { kind, action, sticker } : undefined;
}

/** Validates a standalone sticker: first `chat_id`, then the image. */
export function checkSticker(metadata: Metadata): CheckedSticker {
  const chatId = chatIdOf(metadata);
  if (chatId === undefined) return NO_CHAT;
  const sticker = readSticker(metadata.sticker);
  if (sticker) return { ok: true, chatId, sticker };
  return invalid('INVALID_KIND_FIELD_COMBO', `The sticker must be ${REQUIRED_FIELDS.sticker.rule}.`);
}

/** `bytes` takes precedence over `url`, which is then not validated (F8). */
function readSticker(value: unknown): OutboundSticker | undefined {
  const { bytes, url, name } = isObject(value) ? value : {};
  const label = isText(name) ? { name } : {};
  if (isText(bytes)) return { from: 'bytes', bytes, ...label };
  const isHttps = isText(url) && URL.canParse(url) && new URL(url).protocol === 'https:';
  return isHttps ? { from: 'url', url, ...label } : undefined;
}

function chatIdOf(metadata: Metadata): number | undefined {
  const chatId: unknown = metadata.chat_id;
  return typeof chatId === 'number' && Number.isSafeInteger(chatId) ? chatId : undefined;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '' && value.isWellFormed();
}

const EMOJI = /^(?:\p{Extended_Pictographic}|\p{Regional_Indicator}{2}|[0-9#*]\uFE0F?\u20E3)/u;
const graphemes = new Intl.Segmenter();

/** Whether the value is one emoji: the emoji picker of Messages would offer another emoji for a word or a letter. */
function isEmoji(value: unknown): value is string {
  if (!isText(value)) return false;
  const [first, second] = graphemes.segment(value.trim());
  return first !== undefined && second === undefined && EMOJI.test(first.segment);
}

function isOneOf<T extends string>(choices: readonly T[], value: unknown): value is T {
  return choices.some((choice) => choice === value);
}

function invalid(code: InvalidMetadata['code'], message: string): InvalidMetadata {
  return { ok: false, code, message };
}

const NO_CHAT = invalid('INVALID_FRAME', 'The footer has no chat_id. It must be an integer.');
