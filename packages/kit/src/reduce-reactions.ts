import { parseFooter } from '@footbridge/protocol/footer';
import { CLASSIC_TYPES, knownFields, type ClassicType } from '@footbridge/protocol/metadata';
import { checkAgainst, type FromSchema } from '@footbridge/protocol/schema';

/** What the CRM received, or sent itself. Only `message` is needed. */
export interface ReactingMessage {
  readonly message: string;
  readonly attachments?: readonly string[];
  /** Names the reactor when the footer does not: pass a name of yours for what the CRM itself sent. */
  readonly sender?: string;
  /** When it happened, in milliseconds. Given throughout, messages may come in any order. */
  readonly at?: number;
}

/**
 * What everybody said about each message: by its guid, then by sender. Plain JSON, to be kept with the conversation.
 * Start with `{}`, and ask `reactionsFor` what it amounts to.
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
  /** Of the message that brought it. */
  readonly guid?: string;
  readonly at?: number;
}

/** A reaction that can be drawn. */
export type ShownReaction = { readonly sender: string } & (
  | { readonly kind: 'classic'; readonly type: ClassicType }
  | { readonly kind: 'emoji'; readonly emoji: string }
  /** `image` is the address of the sticker as a picture. */
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

/** Per sender and message. Enough for anybody's changes of mind, and a bound for those who play. */
const REMEMBERED = 32;

/**
 * The state after one more message. Pure; a message without a reaction, or one that was seen before, gives back the
 * same object.
 */
export function reduceReactions(state: ReactionState, inbound: ReactingMessage): ReactionState {
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
  return { ...state, [target]: { ...senders, [sender]: shorten(insert(events, event)) } };
}

/** What is to be drawn on a message: at most one reaction per sender, and no kind that is not known here (F9). */
export function reactionsFor(state: ReactionState, targetGuid: string): ShownReaction[] {
  return Object.entries(own(state, targetGuid) ?? {}).flatMap(([sender, events]) => {
    const shown = draw(inForce(events));
    return shown ? [{ sender, ...shown }] : [];
  });
}

/** In the order of the times, and in the order of arrival where there are none. */
function insert(events: readonly ReactionEvent[], event: ReactionEvent): ReactionEvent[] {
  const isLater = (other: ReactionEvent) => (other.at ?? -Infinity) > (event.at ?? Infinity);
  const before = events.findLastIndex((other) => !isLater(other)) + 1;
  return events.toSpliced(before, 0, event);
}

/** The oldest events are replaced by what they amounted to. */
function shorten(events: readonly ReactionEvent[]): readonly ReactionEvent[] {
  if (events.length <= REMEMBERED) return events;
  const held = inForce(events.slice(0, 1 - REMEMBERED));
  return [...(held ? [held] : []), ...events.slice(1 - REMEMBERED)];
}

/** One reaction per sender and message, whatever its kind: another one takes its place, and only its own removal ends it. */
function inForce(events: readonly ReactionEvent[]): ReactionEvent | undefined {
  let held: ReactionEvent | undefined;
  for (const event of events) {
    if (event.action === 'add') held = event;
    else if (held && isPair(held, event)) held = undefined;
  }
  return held;
}

/** An emoji pairs by its kind alone: some versions of macOS leave the emoji out of the removal. Unknown kinds do likewise. */
function isPair(added: ReactionEvent, removed: ReactionEvent): boolean {
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

/** Guids and senders come from outside: `constructor` is a name like any other. */
function own<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
