import { checkAgainst, type FromSchema } from './schema.ts';

/** The six Tapbacks. */
export type ClassicType = (typeof CLASSIC_TYPES)[number];
export const CLASSIC_TYPES = ['love', 'like', 'dislike', 'laugh', 'emphasize', 'question'] as const;

export type ReactionKind = (typeof REACTION_KINDS)[number];
export const REACTION_KINDS = ['classic', 'emoji', 'sticker'] as const;

const short = { type: 'string', maxLength: 256 } as const;
const handle = { type: 'string', minLength: 1, maxLength: 320 } as const;
const guid = { type: 'string', minLength: 1, maxLength: 256 } as const;

/** A sticker sent by the Mac. `guid` is local to that Mac. */
export const INBOUND_STICKER = {
  type: 'object',
  properties: { guid, mime_type: short, name: short, short_description: { type: 'string', maxLength: 1000 } },
  required: ['guid'],
} as const;

/** A reaction sent by the Mac. `kind` and `type` are open strings: a newer Mac may send new values (F4). */
export const INBOUND_REACTION = {
  type: 'object',
  properties: {
    kind: { type: 'string', minLength: 1, maxLength: 64 },
    action: { type: 'string', enum: ['add', 'remove'] },
    target_message_guid: guid,
    target_message_guid_raw: { type: 'string', maxLength: 512 },
    type: { type: 'string', maxLength: 64 },
    emoji: { type: 'string', maxLength: 64 },
    sticker: INBOUND_STICKER,
  },
  required: ['kind', 'action', 'target_message_guid'],
} as const;

export const VOICE = {
  type: 'object',
  properties: { duration_ms: { type: 'integer', minimum: 0 }, mime_type: short },
  required: [],
} as const;

export const ANIMATION = {
  type: 'object',
  properties: {
    effect: { type: 'string', minLength: 1, maxLength: 128 },
    kind: { type: 'string', enum: ['bubble', 'screen'] },
  },
  required: ['effect', 'kind'],
} as const;

const REPLY_TO = { type: 'object', properties: { message_guid: guid }, required: ['message_guid'] } as const;

/** The fields that `knownFields` validates (F3). */
const KNOWN_FIELDS = {
  chat_id: { type: 'integer' },
  is_group: { type: 'boolean' },
  recipients: { type: 'array', items: handle, maxItems: 1000 },
  sender: handle,
  message_guid: guid,
  service_name: short,
  voice: VOICE,
  animation: ANIMATION,
  reply_to: REPLY_TO,
} as const;

type KnownFields = { readonly [K in keyof typeof KNOWN_FIELDS]?: FromSchema<(typeof KNOWN_FIELDS)[K]> };

export type InboundSticker = FromSchema<typeof INBOUND_STICKER>;
export type InboundReaction = FromSchema<typeof INBOUND_REACTION>;
export type Voice = FromSchema<typeof VOICE>;
export type Animation = FromSchema<typeof ANIMATION>;

/** A sticker. Inbound: `guid`, `mime_type`, `name`, `short_description`. Outbound: `bytes` or `url`, and `name`. */
export interface Sticker {
  readonly guid?: string;
  readonly mime_type?: string;
  readonly name?: string;
  readonly short_description?: string;
  readonly bytes?: string;
  readonly url?: string;
}

export interface Reaction {
  readonly kind: ReactionKind | (string & {});
  readonly action: 'add' | 'remove';
  readonly target_message_guid: string;
  /** Includes the prefix that Messages stores. For debugging only, never for matching. */
  readonly target_message_guid_raw?: string;
  readonly type?: ClassicType | (string & {});
  readonly emoji?: string;
  readonly sticker?: Sticker;
}

/**
 * The JSON object of a footer, with its wire names. The types describe a valid footer. Parsed metadata is not validated:
 * pass it through `knownFields`, `checkReaction` or `checkSticker` first.
 */
export interface Metadata extends KnownFields {
  readonly reaction?: Reaction;
  readonly sticker?: Sticker;
  readonly [unknown: string]: unknown;
}

/** Returns the fields of F3 that have the expected type. Unknown fields and fields of another type are dropped (F4). */
export function knownFields(metadata: Metadata): KnownFields {
  const known: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(KNOWN_FIELDS)) {
    if (!Object.hasOwn(metadata, name)) continue;
    const checked = checkAgainst(schema, metadata[name]);
    if (checked.ok) known[name] = checked.value;
  }
  return known;
}
