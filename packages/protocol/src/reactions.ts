import {
  CLASSIC_TYPES,
  REACTION_KINDS,
  type ClassicType,
  type Metadata,
  type ReactionKind,
} from './metadata.ts';
import { isObject } from './schema.ts';

/** What each kind of reaction must carry on its way to the Mac, besides `kind` and `target_message_guid` (F7). */
export const REQUIRED_FIELDS = {
  classic: { actions: ['add', 'remove'], sibling: 'type', rule: `one of ${CLASSIC_TYPES.join(', ')}` },
  emoji: { actions: ['add', 'remove'], sibling: 'emoji', rule: 'the emoji itself' },
  sticker: { actions: ['add'], sibling: 'sticker', rule: 'an object with bytes (base64) or an https url' },
} as const satisfies Record<ReactionKind, RequiredFields>;

interface RequiredFields {
  readonly actions: readonly ('add' | 'remove')[];
  readonly sibling: string;
  readonly rule: string;
}

/** The image of a sticker: base64, or an https address from which the Mac fetches it. */
export type OutboundSticker =
  | { readonly from: 'bytes'; readonly bytes: string; readonly name?: string }
  | { readonly from: 'url'; readonly url: string; readonly name?: string };

type ReactionContent =
  | { readonly kind: 'classic'; readonly action: 'add' | 'remove'; readonly type: ClassicType }
  | { readonly kind: 'emoji'; readonly action: 'add' | 'remove'; readonly emoji: string }
  | { readonly kind: 'sticker'; readonly action: 'add'; readonly sticker: OutboundSticker };

export type OutboundReaction = { readonly targetGuid: string } & ReactionContent;

type Json = Record<string, unknown>;

export interface Refusal {
  readonly ok: false;
  readonly code: 'INVALID_FRAME' | 'INVALID_KIND_FIELD_COMBO' | 'NOT_IMPLEMENTED';
  readonly message: string;
}

export type CheckedReaction =
  | { readonly ok: true; readonly reaction: OutboundReaction; readonly chatId: number }
  | Refusal;

export type CheckedSticker =
  | { readonly ok: true; readonly sticker: OutboundSticker; readonly chatId: number }
  | Refusal;

/**
 * Checks the reaction of an outbound footer (F7). With several faults the first of this order is reported: the kind,
 * since nothing can be said of a kind we do not know; then where it goes (`chat_id`, `target_message_guid`, `action`);
 * then what the kind asks for.
 */
export function checkReaction(metadata: Metadata): CheckedReaction {
  const reaction: unknown = metadata.reaction;
  if (!isObject(reaction)) return refuse('INVALID_FRAME', 'The footer has no reaction object.');
  const { kind, action, target_message_guid: targetGuid } = reaction;
  if (!isText(kind)) return refuse('INVALID_FRAME', 'The reaction has no kind.');
  if (!isOneOf(REACTION_KINDS, kind)) {
    return refuse('NOT_IMPLEMENTED', `This kind of reaction is not known; use ${REACTION_KINDS.join(', ')}.`);
  }
  const chatId = chatIdOf(metadata);
  if (chatId === undefined) return NO_CHAT;
  if (!isText(targetGuid) || targetGuid.length > 256) {
    return refuse('INVALID_FRAME', 'The reaction has no target_message_guid.');
  }
  if (action !== 'add' && action !== 'remove') {
    return refuse('INVALID_FRAME', 'The action of the reaction must be add or remove.');
  }
  const content = readContent(kind, action, reaction);
  if (content) return { ok: true, chatId, reaction: { targetGuid, ...content } };
  const { actions, sibling, rule } = REQUIRED_FIELDS[kind];
  return refuse(
    'INVALID_KIND_FIELD_COMBO',
    isOneOf(actions, action)
      ? `A reaction of kind ${kind} needs ${sibling}: ${rule}.`
      : `A reaction of kind ${kind} cannot be taken back.`,
  );
}

function readContent(
  kind: ReactionKind,
  action: 'add' | 'remove',
  reaction: Json,
): ReactionContent | undefined {
  const { type, emoji } = reaction;
  if (kind === 'classic') return isOneOf(CLASSIC_TYPES, type) ? { kind, action, type } : undefined;
  if (kind === 'emoji') return isText(emoji) ? { kind, action, emoji } : undefined;
  const sticker = readSticker(reaction['sticker']);
  return action === 'add' && sticker ? { kind, action, sticker } : undefined;
}

/** Checks a sticker that is a message of its own: first where it goes, then the image. */
export function checkSticker(metadata: Metadata): CheckedSticker {
  const chatId = chatIdOf(metadata);
  if (chatId === undefined) return NO_CHAT;
  const sticker = readSticker(metadata.sticker);
  if (sticker) return { ok: true, chatId, sticker };
  return refuse('INVALID_KIND_FIELD_COMBO', `The sticker must be ${REQUIRED_FIELDS.sticker.rule}.`);
}

/** With both, `bytes` wins and `url` is not even looked at (F8). */
function readSticker(value: unknown): OutboundSticker | undefined {
  const { bytes, url, name } = isObject(value) ? value : {};
  const label = isText(name) ? { name } : {};
  if (isText(bytes)) return { from: 'bytes', bytes, ...label };
  return isText(url) && URL.parse(url)?.protocol === 'https:' ? { from: 'url', url, ...label } : undefined;
}

function chatIdOf(metadata: Metadata): number | undefined {
  const chatId: unknown = metadata.chat_id;
  return typeof chatId === 'number' && Number.isSafeInteger(chatId) ? chatId : undefined;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '' && value.isWellFormed();
}

function isOneOf<T extends string>(choices: readonly T[], value: unknown): value is T {
  return choices.some((choice) => choice === value);
}

function refuse(code: Refusal['code'], message: string): Refusal {
  return { ok: false, code, message };
}

const NO_CHAT = refuse(
  'INVALID_FRAME',
  'The footer has no chat_id, an integer: which conversation is meant?',
);
