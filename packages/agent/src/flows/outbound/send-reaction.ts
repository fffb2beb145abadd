import type { OutboundReaction } from '@footbridge/protocol/reactions';

import { majorOf, MIN_MACOS } from '../../ports/messages/feature-versions.ts';
import type { Environment, LocalFile, OwnReaction, TapbackPress } from '../../ports/messages/messages.ts';
import { stripTargetPrefix, targetPart } from '@footbridge/protocol/tapbacks';
import { findRequiredChat } from './find-chat.ts';
import type { ParsedRequest } from './read-request.ts';
import { checkUiAutomation } from './check-ui-automation.ts';
import { stickerImage } from './sticker-image.ts';
import type { JobDeps } from './job-deps.ts';
import { failed } from '../../outcome.ts';
import type { Failed, JobOutcome, Outcome } from '../../outcome.ts';

const POLL_MS = 50;

/**
 * Adds or removes a reaction. Idempotent: does nothing when the requested state is already present (F9). A press counts only when its
 * effect appears in the store (M6).
 */
export async function sendReaction(
  request: Extract<ParsedRequest, { kind: 'reaction' }>,
  deps: JobDeps,
): Promise<JobOutcome> {
  const { messages, steps } = deps;
  if (steps.isDone('press')) return DONE;
  const targetGuid = stripTargetPrefix(request.reaction.targetGuid);
  const part = targetPart(request.reaction.targetGuid);
  const target = messages.store.rowByGuid(targetGuid);
  const chat = findRequiredChat(request.address, messages.store);
  if (
    chat === undefined ||
    target === undefined ||
    target.unsent ||
    target.tapback !== undefined ||
    target.chatId !== chat.id
  ) {
    return failed('TARGET_NOT_FOUND', 'The message to react to does not exist in that chat on this Mac.');
  }
  if (isPresent(request.reaction, undefined, messages.store.ownReaction(targetGuid, part))) return DONE;
  const environment = messages.environment();
  const denied = checkUiAutomation(environment) ?? checkMacosVersion(request.reaction, environment);
  // An interrupted press may have worked, so it is looked up before the job fails.
  if (denied !== undefined && !steps.haveBegun()) return denied;
  const image =
    request.reaction.kind === 'sticker' ? await stickerImage(request.reaction.sticker, deps) : undefined;
  if (image !== undefined && 'state' in image) {
    // Without the image, the reaction of an earlier attempt cannot be recognised in the store.
    const earlier = await steps.earlierResult('press');
    return earlier === undefined ? image : withoutGuid(earlier);
  }
  if (isPresent(request.reaction, image, messages.store.ownReaction(targetGuid, part))) return DONE;
  if (denied !== undefined) return denied;

  const press = {
    chatId: chat.id,
    targetGuid,
    ...(part === undefined ? {} : { part }),
    tapback: tapbackOf(request.reaction, image),
  };
  return await pressAndConfirm(request.reaction, image, press, deps);
}

const DONE: JobOutcome = { state: 'delivered', guid: undefined };

async function pressAndConfirm(
  reaction: OutboundReaction,
  image: LocalFile | undefined,
  press: TapbackPress,
  deps: JobDeps,
): Promise<JobOutcome> {
  const result = await deps.steps.once('press', async () => {
    const pressed = await deps.messages.react(press);
    if (pressed.state === 'failed') return pressed;
    const confirmed = await waitUntilPresent(reaction, image, press, deps);
    return confirmed
      ? { state: 'delivered', guid: press.targetGuid }
      : { state: 'failed', ...NOT_CONFIRMED[reaction.kind] };
  });
  return withoutGuid(result);
}

/** The guid of a press is the guid of its target. */
function withoutGuid(outcome: Outcome): JobOutcome {
  return outcome.state === 'delivered' ? DONE : outcome;
}

async function waitUntilPresent(
  reaction: OutboundReaction,
  image: LocalFile | undefined,
  { targetGuid, part }: TapbackPress,
  { messages, clock, settings }: JobDeps,
): Promise<boolean> {
  const deadline = clock.monotonic() + settings.confirmMs;
  for (;;) {
    if (isPresent(reaction, image, messages.store.ownReaction(targetGuid, part))) return true;
    if (clock.monotonic() >= deadline) return false;
    await clock.sleep(POLL_MS);
  }
}

const NOT_CONFIRMED = {
  classic: { code: 'TIMEOUT', message: 'The reaction did not appear in Messages in time.' },
  emoji: { code: 'EMOJI_NOT_IN_RECENTS', message: 'The emoji did not appear as a reaction in time.' },
  sticker: { code: 'STICKER_NOT_FEASIBLE', message: 'The sticker did not appear on the message in time.' },
} as const;

/** Returns a failure for a reaction that this version of macOS does not support (M5). */
function checkMacosVersion(reaction: OutboundReaction, environment: Environment): Failed | undefined {
  const major = majorOf(environment.macos);
  if (reaction.kind === 'emoji' && major < MIN_MACOS.emojiReactions) {
    return failed(
      'EMOJI_NOT_IN_RECENTS',
      `Emoji reactions need macOS ${MIN_MACOS.emojiReactions} or newer; this Mac has ${environment.macos}.`,
    );
  }
  if (reaction.kind === 'sticker' && major < MIN_MACOS.stickerReactions) {
    return failed(
      'STICKER_NOT_FEASIBLE',
      `Sticker reactions need macOS ${MIN_MACOS.stickerReactions} or newer; this Mac has ${environment.macos}.`,
    );
  }
  return undefined;
}

/** Whether the requested state is already present. */
function isPresent(
  reaction: OutboundReaction,
  image: LocalFile | undefined,
  current: OwnReaction | undefined,
): boolean {
  const matches = current !== undefined && isSame(reaction, image, current);
  return reaction.action === 'add' ? matches : !matches;
}

function isSame(reaction: OutboundReaction, image: LocalFile | undefined, current: OwnReaction): boolean {
  if (reaction.kind === 'classic') return current.kind === 'classic' && current.type === reaction.type;
  if (reaction.kind === 'emoji') {
    return current.kind === 'emoji' && normalizeEmoji(current.emoji ?? '') === normalizeEmoji(reaction.emoji);
  }
  return current.kind === 'sticker' && image !== undefined && current.fileName === image.name;
}

/** Removes the variation selector, which does not change the emoji. */
function normalizeEmoji(emoji: string): string {
  return emoji.replaceAll('\uFE0F', '');
}

function tapbackOf(reaction: OutboundReaction, image: LocalFile | undefined): TapbackPress['tapback'] {
  if (reaction.kind === 'classic') return { kind: 'classic', type: reaction.type };
  if (reaction.kind === 'emoji') return { kind: 'emoji', emoji: reaction.emoji };
  if (image === undefined) throw new Error('A sticker reaction has no image');
  const { name } = reaction.sticker;
  return { kind: 'sticker', file: image, ...(name === undefined ? {} : { description: name }) };
}
