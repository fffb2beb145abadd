import type { OutboundReaction } from '@footbridge/protocol/reactions';

import { macosMajor } from '../../ports/messages/messages.ts';
import type { Environment, LocalFile, OwnReaction, TapbackPress } from '../../ports/messages/messages.ts';
import { stripTargetPrefix } from '../../ports/messages/tapbacks.ts';
import type { Outcome, Refused } from './outcome.ts';
import { refused } from './outcome.ts';
import type { Work } from './read-request.ts';
import { mayUseScreenControls } from './check-ui-automation.ts';
import { stickerImage } from './sticker-image.ts';
import type { Tools } from './job-deps.ts';

const POLL_MS = 50;

/**
 * Brings about the state that was asked for. A request whose state holds already is done at once, without touching the
 * screen (F9): that makes it safe to repeat. A press counts only when the store shows what it did (M6).
 */
export async function sendReaction(
  work: Extract<Work, { kind: 'reaction' }>,
  tools: Tools,
): Promise<Outcome> {
  const { messages } = tools;
  const targetGuid = stripTargetPrefix(work.reaction.targetGuid);
  const target = messages.store.rowByGuid(targetGuid);
  if (
    target === undefined ||
    target.unsent ||
    target.tapback !== undefined ||
    target.chatId !== work.chatId
  ) {
    return refused('TARGET_NOT_FOUND', 'The message to react to is not in that conversation on this Mac.');
  }
  if (holds(work.reaction, undefined, messages.store.ownReaction(targetGuid))) return DONE;
  const environment = messages.environment();
  const denied = mayUseScreenControls(environment) ?? unavailable(work.reaction, environment);
  if (denied !== undefined) return denied;
  const image =
    work.reaction.kind === 'sticker' ? await stickerImage(work.reaction.sticker, tools) : undefined;
  if (image !== undefined && 'state' in image) return image;
  if (holds(work.reaction, image, messages.store.ownReaction(targetGuid))) return DONE;

  const press = { chatId: work.chatId, targetGuid, tapback: tapbackOf(work.reaction, image) };
  return await pressAndConfirm(work.reaction, image, press, tools);
}

const DONE: Outcome = { state: 'delivered', guid: undefined };

async function pressAndConfirm(
  reaction: OutboundReaction,
  image: LocalFile | undefined,
  press: TapbackPress,
  tools: Tools,
): Promise<Outcome> {
  const result = await tools.steps.once('press', async () => {
    const pressed = await tools.messages.react(press);
    if (pressed.result === 'failed') return pressed;
    const landed = await observed(reaction, image, press.targetGuid, tools);
    return landed
      ? { result: 'sent', guid: press.targetGuid }
      : { result: 'failed', ...NOT_OBSERVED[reaction.kind] };
  });
  if (result.result === 'sent') return DONE;
  const { code, message } = result;
  return { state: result.result === 'failed' ? 'failed' : 'unknown', code, message };
}

async function observed(
  reaction: OutboundReaction,
  image: LocalFile | undefined,
  targetGuid: string,
  { messages, clock, settings }: Tools,
): Promise<boolean> {
  const deadline = clock.monotonic() + settings.confirmMs;
  for (;;) {
    if (holds(reaction, image, messages.store.ownReaction(targetGuid))) return true;
    if (clock.monotonic() >= deadline) return false;
    await clock.sleep(POLL_MS);
  }
}

const NOT_OBSERVED = {
  classic: { code: 'TIMEOUT', message: 'The reaction did not show up in Messages in time.' },
  emoji: { code: 'EMOJI_NOT_IN_RECENTS', message: 'The emoji did not show up as a reaction in time.' },
  sticker: { code: 'STICKER_NOT_FEASIBLE', message: 'No new sticker showed up on the message in time.' },
} as const;

/** What the version of macOS cannot do (M5). The six Tapbacks are older than any that matters. */
function unavailable(reaction: OutboundReaction, environment: Environment): Refused | undefined {
  const major = macosMajor(environment);
  if (reaction.kind === 'emoji' && major < 26) {
    return refused(
      'EMOJI_NOT_IN_RECENTS',
      `Emoji reactions need macOS 26; this Mac has ${environment.macos}.`,
    );
  }
  if (reaction.kind === 'sticker' && major < 15) {
    return refused(
      'STICKER_NOT_FEASIBLE',
      `Sticker reactions need macOS 15; this Mac has ${environment.macos}.`,
    );
  }
  return undefined;
}

/** Whether the state that was asked for is the present one. */
function holds(
  reaction: OutboundReaction,
  image: LocalFile | undefined,
  present: OwnReaction | undefined,
): boolean {
  const there = present !== undefined && isSame(reaction, image, present);
  return reaction.action === 'add' ? there : !there;
}

function isSame(reaction: OutboundReaction, image: LocalFile | undefined, present: OwnReaction): boolean {
  if (reaction.kind === 'classic') return present.kind === 'classic' && present.type === reaction.type;
  if (reaction.kind === 'emoji') {
    return present.kind === 'emoji' && glyph(present.emoji ?? '') === glyph(reaction.emoji);
  }
  return present.kind === 'sticker' && image !== undefined && present.fileName === image.name;
}

/** With and without the variation selector it is the same emoji. */
function glyph(emoji: string): string {
  return emoji.trim().replaceAll('\uFE0F', '');
}

function tapbackOf(reaction: OutboundReaction, image: LocalFile | undefined): TapbackPress['tapback'] {
  if (reaction.kind === 'classic') return { kind: 'classic', type: reaction.type };
  if (reaction.kind === 'emoji') return { kind: 'emoji', emoji: reaction.emoji.trim() };
  if (image === undefined) throw new Error('A sticker reaction was pressed without its image');
  const { name } = reaction.sticker;
  return { kind: 'sticker', file: image, ...(name === undefined ? {} : { description: name }) };
}
