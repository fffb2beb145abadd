import { CLASSIC_TYPES } from './metadata.ts';
import type { ClassicType } from './metadata.ts';

/**
 * `associated_message_type` of reactions: 2000 to 2005 add one of the six classic Tapbacks, 2006 adds an emoji, 2007 a
 * sticker; 1000 more removes it. 1000 itself is a sticker placed on a bubble.
 */
const EMOJI = 2006;
const STICKER = 2007;
const PLACED_STICKER = 1000;
const REMOVED = 1000;

export type TapbackKind =
  | { readonly kind: 'classic'; readonly type: ClassicType }
  | { readonly kind: 'emoji' }
  | { readonly kind: 'sticker' };

export function tapbackCode(tapback: TapbackKind, action: 'add' | 'remove'): number {
  const offset = action === 'add' ? 0 : REMOVED;
  if (tapback.kind === 'emoji') return EMOJI + offset;
  if (tapback.kind === 'sticker') return STICKER + offset;
  return 2000 + CLASSIC_TYPES.indexOf(tapback.type) + offset;
}

/** Returns undefined for other associations, such as app updates and poll votes. */
export function readTapbackCode(
  code: number,
): (TapbackKind & { readonly action: 'add' | 'remove' }) | undefined {
  if (code === PLACED_STICKER) return { kind: 'sticker', action: 'add' };
  const action = code >= 3000 ? 'remove' : 'add';
  const added = action === 'add' ? code : code - REMOVED;
  if (added === EMOJI) return { kind: 'emoji', action };
  if (added === STICKER) return { kind: 'sticker', action };
  const type = CLASSIC_TYPES[added - 2000];
  return type === undefined ? undefined : { kind: 'classic', type, action };
}

/** Returns the GUID of `p:0/GUID` (a part of a message), `bp:GUID` (an app's bubble) or a bare GUID. */
export function stripTargetPrefix(raw: string): string {
  return raw.replace(/^(?:p:\d+\/|bp:)/, '');
}

/** Returns the part that a raw target names: 1 for `p:1/GUID`. */
export function targetPart(raw: string): number | undefined {
  const part = /^p:(\d+)\//.exec(raw)?.[1];
  return part === undefined ? undefined : Number(part);
}

/** A lookup without `part` finds reactions to this many parts of a message. */
const MAX_PARTS = 20;

/** Returns the forms in which a reaction can refer to a part of a message, or without `part` to any part. */
export function targetsOf(guid: string, part?: number): string[] {
  const whole = [guid, `bp:${guid}`];
  if (part === undefined)
    return [...whole, ...Array.from({ length: MAX_PARTS }, (_, index) => `p:${index}/${guid}`)];
  return part === 0 ? [...whole, `p:0/${guid}`] : [`p:${part}/${guid}`];
}
