import type { StatusCode } from '@footbridge/protocol/codes';

import { failed } from '../../../../outcome.ts';
import type { Failed } from '../../../../outcome.ts';
import type { RefusalReason } from '../programs/screen-lines.ts';

/** An action on the screen. */
export type ScreenAction = 'reaction' | 'reply' | 'effect' | 'new_group';

const NO_LABEL =
  'This version of macOS gives a control of Messages another name than the agent expects. Report it with the version of macOS.';

const REASONS: Readonly<Record<RefusalReason, string>> = {
  not_trusted:
    'The agent does not have the Accessibility permission. Grant it in System Settings, Privacy & Security, Accessibility.',
  locked: 'The screen of the Mac is locked. Unlock it.',
  away: "Another user's session is on the screen of the Mac. Switch back to the user of the agent.",
  owner_active: 'A person is typing on the Mac. Try again later.',
  not_running: 'Messages is not running and could not be started.',
  several_windows: 'Messages has several conversations open in windows. Close all but one.',
  sheet: 'Messages shows a dialog. Close it on the Mac.',
  reply_open: 'A reply that a person began is open in Messages. Send or cancel it on the Mac.',
  link_rejected: 'macOS did not open the link to the conversation.',
  not_shown: 'Messages did not show the conversation.',
  not_selected: 'Messages did not select the message.',
  several_selected: 'Messages selected several messages.',
  differs: 'Messages shows another message than its store has.',
  no_label: NO_LABEL,
  no_action: 'Messages does not offer this action for the message.',
  no_picker: 'The picker in Messages did not open.',
  state_differs: 'Messages shows another state of the reaction than its store has. Try again later.',
  no_emoji: 'Messages does not offer this emoji.',
  no_composer: 'The text field of Messages was not found or does not accept the text.',
  draft: 'The text field of Messages has a text that a person typed. Send or delete it on the Mac.',
  no_reply_mode: 'Messages did not open the thread.',
  other_recipients: 'Messages did not accept exactly these recipients.',
  no_effect: 'Messages did not show the effect.',
  not_in_front: 'Another application came to the front.',
};

/** The code of a failure without a code of its own. */
const GENERAL: Readonly<Record<ScreenAction, StatusCode>> = {
  reaction: 'PICKER_FAILED',
  effect: 'PICKER_FAILED',
  reply: 'IMESSAGE_ERROR',
  new_group: 'IMESSAGE_ERROR',
};

const TARGET_REASONS: ReadonlySet<RefusalReason> = new Set([
  'not_shown',
  'not_selected',
  'several_selected',
  'differs',
]);

/** Returns the failure for a program that refused to act. Nothing was pressed, and nothing was sent. */
export function refusedFailure(reason: RefusalReason, action: ScreenAction): Failed {
  return screenFailure(codeOf(reason, action), REASONS[reason]);
}

/** Returns the failure for a program that ended before it did anything. */
export function generalFailure(why: string, action: ScreenAction): Failed {
  return screenFailure(GENERAL[action], why);
}

export function screenFailure(code: StatusCode, why: string): Failed {
  return failed(code, `${why} Nothing was changed in Messages.`);
}

function codeOf(reason: RefusalReason, action: ScreenAction): StatusCode {
  if (reason === 'not_trusted') return 'AX_DENIED';
  if (reason === 'owner_active') return 'TIMEOUT';
  if (reason === 'no_emoji') return 'EMOJI_NOT_IN_RECENTS';
  if (reason === 'other_recipients' && action === 'new_group') return 'IMESSAGE_GROUP_INVALID_RECIPIENTS';
  const hasTarget = action === 'reaction' || action === 'reply';
  return hasTarget && TARGET_REASONS.has(reason) ? 'TARGET_NOT_FOUND' : GENERAL[action];
}
