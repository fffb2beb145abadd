import { parseFooter } from '@footbridge/protocol/footer';
import { CLASSIC_TYPES, knownFields, type ClassicType } from '@footbridge/protocol/metadata';
import { checkAgainst, type FromSchema } from '@footbridge/protocol/schema';

/** A message that the CRM received or sent. Only `message` is required. */
export interface ConversationMessage {
  readonly message: string;
  readonly attachments?: readonly string[];
  /** The sender of the reaction if the footer has none: pass your own identifier for messages that the CRM sent. */
  readonly sender?: string;
  /** The time of the message in milliseconds. If every message has one, they may be processed in any order. */
  readonly at?: number;
}

/**
 * The reaction events of a conversation, by target message GUID, then by sender. Plain JSON, to be stored with the
 * conversation. Start with `{}`; `reactionsFor` returns the reactions to draw.
 */
export interface ReactionState {
  readonly [targetGuid: string]: { readonly [sender: string]: readonly ReactionEvent[] };
}

interface ReactionEvent {
  readonly action: 'add' | 'remove';
  readonly kind: string;
  readonly type?: string;
  readonly emoji?: string;
  readonly sticker?: ShownSticker;
  readonly image?: string;
  /** The GUID of the message that contained the event. */
  readonly guid?: string;
  readonly at?: number;
}

/** A reaction that can be drawn. */
export type ShownReaction = { readonly sender: string } & (
  | { readonly kind: 'classic'; readonly type: ClassicType }
  | { readonly kind: 'emoji'; readonly emoji: string }
  /** `image` is the URL of the sticker image. */
  | { readonly kind: 'sticker'; readonly sticker: ShownSticker; readonly image?: string }
);

export type ShownSticker = FromSchema<typeof STICKER>;

const text = { type: 'string' } as const;
const STICKER = {
  type: 'object',
  properties: { guid: text, mime_type: text, name: text, short_description: text },
  required: [],
} as const;
const REACTION = {
  type: 'object',
  properties: {
    kind: { type: 'string', minLength: 1 },
    action: { type: 'string', enum: ['add', 'remove'] },
    target_message_guid: { type: 'string', minLength: 1 },
    type: text,
    emoji: text,
    sticker: STICKER,
  },
  required: ['kind', 'action', 'target_message_guid'],
} as const;

/** Per sender and target message; older events are merged. */
const MAX_EVENTS = 32;

/**
 * Returns the state after one more message. Pure. Returns the same object for a message without a reaction and for one
 * that was already processed.
 */
export function reduceReactions(state: ReactionState, inbound: ConversationMessage): ReactionState {
  const { metadata } = parseFooter(inbound.message);
  const checked = checkAgainst(REACTION, metadata?.reaction);
  if (!metadata || !checked.ok) return state;
  const { target_message_guid: target, ...reaction } = checked.value;
  const { sender = inbound.sender ?? '', message_guid: guid } = knownFields(metadata);
  const senders = own(state, target) ?? {};
  const events = own(senders, sender) ?? [];
  if (guid !== undefined && events.some((event) => event.guid === guid)) return state;

  const [image] = inbound.attachments ?? [];
  const event: ReactionEvent = {
    ...reaction,
    ...(image !== undefined && { image }),
    ...(guid !== undefined && { guid }),
    ...(inbound.at !== undefined && { at: inbound.at }),
  };
  return { ...state, [target]: { ...senders, [sender]: compact(insert(events, event)) } };
}

/** Returns the reactions to draw on a message: at most one per sender, and only of known kinds (F9). */
export function reactionsFor(state: ReactionState, targetGuid: string): ShownReaction[] {
  return Object.entries(own(state, targetGuid) ?? {}).flatMap(([sender, events]) => {
    const shown = draw(activeReaction(events));
    return shown ? [{ sender, ...shown }] : [];
  });
}

/** Inserts by time, or in order of arrival if there is no time. */
function insert(events: readonly ReactionEvent[], event: ReactionEvent): ReactionEvent[] {
  const isLater = (other: ReactionEvent) => (other.at ?? -Infinity) > (event.at ?? Infinity);
  const before = events.findLastIndex((other) => !isLater(other)) + 1;
  return events.toSpliced(before, 0, event);
}

/** Replaces the oldest events with the reaction that results from them. */
function compact(events: readonly ReactionEvent[]): readonly ReactionEvent[] {
  if (events.length <= MAX_EVENTS) return events;
  const active = activeReaction(events.slice(0, 1 - MAX_EVENTS));
  return [...(active ? [active] : []), ...events.slice(1 - MAX_EVENTS)];
}

/** Returns the sender's current reaction. Any added reaction replaces it; only a matching removal clears it. */
function activeReaction(events: readonly ReactionEvent[]): ReactionEvent | undefined {
  let active: ReactionEvent | undefined;
  for (const event of events) {
    if (event.action === 'add') active = event;
    else if (active && isRemovalOf(active, event)) active = undefined;
  }
  return active;
}

/** Emoji and unknown kinds match by kind alone: some versions of macOS omit the emoji from the removal. */
function isRemovalOf(added: ReactionEvent, removed: ReactionEvent): boolean {
  if (added.kind !== removed.kind) return false;
  if (added.kind === 'classic') return added.type === removed.type;
  return added.kind !== 'sticker' || added.sticker?.guid === removed.sticker?.guid;
}

type Drawn = ShownReaction extends infer Shown
  ? Shown extends unknown
    ? Omit<Shown, 'sender'>
    : never
  : never;

function draw(event: ReactionEvent | undefined): Drawn | undefined {
  const { kind, emoji, sticker, image } = event ?? {};
  const type = CLASSIC_TYPES.find((known) => known === event?.type);
  if (kind === 'classic' && type) return { kind, type };
  if (kind === 'emoji' && emoji) return { kind, emoji };
  if (kind === 'sticker' && sticker) return { kind, sticker, ...(image !== undefined && { image }) };
  return undefined;
}

/** GUIDs and senders are untrusted: `constructor` must not resolve to an inherited property. */
function own<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
