import type { ElementShape } from '../../messages-shape.ts';

/** Why a program did nothing. Nothing was pressed and nothing was sent. */
export type RefusalReason =
  | 'not_trusted'
  | 'locked'
  | 'away'
  | 'owner_active'
  | 'not_running'
  | 'several_windows'
  | 'sheet'
  | 'reply_open'
  | 'link_rejected'
  | 'not_shown'
  | 'not_selected'
  | 'several_selected'
  | 'differs'
  | 'no_label'
  | 'no_action'
  | 'no_picker'
  | 'state_differs'
  | 'no_emoji'
  | 'no_composer'
  | 'draft'
  | 'no_reply_mode'
  | 'other_recipients'
  | 'no_effect'
  | 'not_in_front';

export type ScreenLine =
  | { readonly step: 'refused'; readonly reason: RefusalReason }
  /** Written directly before the press. Without this line nothing was pressed. */
  | { readonly step: 'dispatching' }
  | { readonly step: 'dispatched' }
  /** An Accessibility call failed. */
  | { readonly step: 'error'; readonly number: number };

/** What the program that describes the windows writes. */
export type DescriptionLine =
  | { readonly step: 'language'; readonly language: string | null }
  | ({ readonly step: 'label'; readonly text: string | null } & LabelKey)
  | ({ readonly step: 'element' } & ElementShape)
  | { readonly step: 'described' };

/** A label of Messages: its key in a table of the system, which has it in the language of the user. */
export interface LabelKey {
  readonly table: 'Accessibility' | 'ChatKit';
  readonly key: string;
}

export interface ScreenLimits {
  /** The owner's keyboard must be idle for this long. */
  readonly idleSec: number;
  /** How long to wait for that. */
  readonly idleWaitSec: number;
  /** How long Messages may take to show something. */
  readonly showSec: number;
}

/** A message as the transcript must show it. */
export interface ShownMessage {
  readonly guid: string;
  /** The bubbles of the message, in order. One without a text shows a file or a link. */
  readonly parts: readonly { readonly text?: string; readonly isLink?: true }[];
  /** The query of a link to another place of the chat, to move an earlier selection away from a bubble that looks the same. */
  readonly elsewhere: string;
}
