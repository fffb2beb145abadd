import { chatRowOf } from '../../chat-ids.ts';
import { StoreUnavailableError } from '../../messages.ts';
import type { OwnReaction, PressResult, StoredRow, TapbackPress } from '../../messages.ts';
import { readTapbackCode, targetPart } from '@footbridge/protocol/tapbacks';
import type { Failed } from '../../../../outcome.ts';
import { TAPBACK } from '../bundled-programs.ts';
import type { TapbackInput } from '../programs/tapback.ts';
import { CLASSIC_TAPBACKS, TAPBACK_LABELS } from './labels.ts';
import { runOnScreen } from './run-on-screen.ts';
import type { ScreenDeps } from './run-on-screen.ts';
import { screenFailure } from './screen-errors.ts';
import { shownPart } from './shown-message.ts';
import type { ScreenStore } from './shown-message.ts';

export interface TapbackDeps extends ScreenDeps {
  readonly store: ScreenStore;
  /** The presses without a row, by the guid of their message. */
  readonly unconfirmed: Map<string, UnconfirmedPress>;
}

/** A press that was made, or may have been made. */
export interface UnconfirmedPress {
  /** Monotonic time in milliseconds. */
  readonly at: number;
  /** The position of the store before it. */
  readonly since: number;
}

type ScreenTapback = Exclude<TapbackPress['tapback'], { kind: 'sticker' }>;

const POLL_MS = 50;
/** How long to wait for the row of a press. Afterwards the caller waits for the requested state. */
const CLASSIC_ROW_MS = 3_000;
const EMOJI_ROW_MS = 1_000;
/** The row of a press can be this late. A second press before the row would undo the first. */
const LATE_ROW_MS = 30_000;
const NEW_ROWS = 200;

/** Presses a Tapback once, and looks for its row. Resolves with a failure when the row belongs to another message. */
export async function pressTapback(press: TapbackPress, deps: TapbackDeps): Promise<PressResult> {
  const { tapback, targetGuid } = press;
  if (tapback.kind === 'sticker')
    return screenFailure('STICKER_NOT_FEASIBLE', 'macOS offers no way to react with a sticker.');
  const prepared = prepare(press, tapback, deps);
  if ('state' in prepared) return prepared;
  const { input, since } = prepared;
  const pressed = await runOnScreen(TAPBACK, input, 'reaction', deps);
  if (pressed.state === 'failed') return pressed;
  deps.unconfirmed.set(targetGuid, { at: deps.clock.monotonic(), since });
  const where = await findRow(press, tapback, since, deps);
  if (where !== 'nowhere') deps.unconfirmed.delete(targetGuid);
  if (where === 'nowhere' && pressed.failure !== undefined) return pressed.failure;
  if (where !== 'elsewhere') return { state: 'pressed' };
  return {
    state: 'failed',
    code: 'TARGET_NOT_FOUND',
    message: 'Messages put the reaction on another message. Remove it there on the Mac.',
  };
}

function prepare(
  press: TapbackPress,
  tapback: ScreenTapback,
  { store, unconfirmed, clock }: TapbackDeps,
): { readonly input: Omit<TapbackInput, 'limits'>; readonly since: number } | Failed {
  const { targetGuid, part } = press;
  try {
    const row = store.rowByGuid(targetGuid);
    const shown = row === undefined ? undefined : shownPart(store, row, part);
    if (shown === undefined)
      return screenFailure('TARGET_NOT_FOUND', 'The message has no bubble to react to on this Mac.');
    for (const [guid, { at, since }] of unconfirmed) {
      const isLate = clock.monotonic() - at >= LATE_ROW_MS;
      if (isLate || newReactions(store, since).some((found) => found.tapback?.targetGuid === guid))
        unconfirmed.delete(guid);
    }
    if (unconfirmed.has(targetGuid))
      return screenFailure('TIMEOUT', 'An earlier press on this message has no row yet. Try again in 30 s.');
    const input = {
      ...shown,
      isActive: isSame(tapback, store.ownReaction(targetGuid, part)),
      tapback: tapback.kind === 'classic' ? CLASSIC_TAPBACKS[tapback.type] : tapback,
      labels: TAPBACK_LABELS,
    };
    return { input, since: store.position() };
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    return screenFailure(
      'PICKER_FAILED',
      `The message store cannot be read (${error.problem}). Run footbridge-agent doctor.`,
    );
  }
}

async function findRow(
  press: TapbackPress,
  tapback: ScreenTapback,
  since: number,
  { store, clock }: TapbackDeps,
): Promise<'here' | 'elsewhere' | 'nowhere'> {
  const deadline = clock.monotonic() + (tapback.kind === 'classic' ? CLASSIC_ROW_MS : EMOJI_ROW_MS);
  for (;;) {
    const rows = newReactions(store, since);
    if (rows.some((row) => isOn(press, row))) return 'here';
    if (clock.monotonic() >= deadline) {
      // Checked only at the end, because the owner can react to another message on the phone at the same moment.
      return rows.some((row) => isOf(tapback, row)) ? 'elsewhere' : 'nowhere';
    }
    await clock.sleep(POLL_MS);
  }
}

function newReactions(store: ScreenStore, since: number): StoredRow[] {
  try {
    const rowid = chatRowOf(store.generation(), since);
    const rows = rowid === undefined ? [] : store.rowsAfter(rowid, NEW_ROWS);
    return rows.filter((row) => row.fromMe && row.tapback !== undefined);
  } catch (error) {
    if (error instanceof StoreUnavailableError) return [];
    throw error;
  }
}

function isOn({ targetGuid, part }: TapbackPress, { tapback }: StoredRow): boolean {
  if (tapback?.targetGuid !== targetGuid) return false;
  return part === undefined || (targetPart(tapback.targetRaw) ?? 0) === part;
}

function isOf(wanted: ScreenTapback, { tapback }: StoredRow): boolean {
  const found = tapback === undefined ? undefined : readTapbackCode(tapback.type);
  if (found?.kind === 'classic') return wanted.kind === 'classic' && found.type === wanted.type;
  return found?.kind === 'emoji' && isSame(wanted, { kind: 'emoji', emoji: tapback?.emoji });
}

function isSame(wanted: ScreenTapback, current: OwnReaction | undefined): boolean {
  if (wanted.kind === 'classic') return current?.kind === 'classic' && current.type === wanted.type;
  return current?.kind === 'emoji' && plainEmoji(current.emoji ?? '') === plainEmoji(wanted.emoji);
}

/** Removes the variation selector, which does not change the emoji. */
const plainEmoji = (emoji: string): string => emoji.replaceAll('\uFE0F', '');
