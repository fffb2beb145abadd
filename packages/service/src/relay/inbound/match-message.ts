import { parseFooter } from '@footbridge/protocol/footer';

import type { StoredMessage } from './conversation-calls.ts';

/** A message that the CRM may or may not have: the response to its POST was lost. */
export interface LostMessage {
  readonly locationId: string;
  readonly guid: string;
  readonly sender: string;
  readonly direction: 'inbound' | 'outbound';
  /** Undefined when the process that posted the message has ended. The search decides again. */
  readonly contactId: string | undefined;
  readonly text: string;
  readonly attachments: readonly string[];
  /** The CRM may have copies of the files, under URLs that only the ended process knew. */
  readonly mayHaveCopies: boolean;
  /** It was not posted before, by our clock of this moment. */
  readonly claimedAt: number;
  /** By how much our clock may have been set since then. */
  readonly maxClockStepMs: number;
}

/** The CRM may truncate times to whole seconds, and the clocks of its servers differ. */
const TOLERANCE_MS = 5000;

/**
 * Whether the CRM's message is the lost one or looks exactly like it. A footer's GUID decides alone; without a footer direction, text,
 * attachments and time decide.
 */
export function isMatch(lost: LostMessage, stored: StoredMessage): boolean {
  if (stored.isInbound !== (lost.direction === 'inbound')) return false;
  const guid = parseFooter(stored.text).metadata?.['message_guid'];
  if (guid !== undefined) return guid === lost.guid;
  return isSameText(stored.text, lost.text) && hasSameFiles(lost, stored) && !isBefore(lost, stored);
}

/** CRMs trim texts, change line breaks and compose characters. */
export const isSameText = (one: string, other: string): boolean => comparable(one) === comparable(other);

/** Whether the CRM certainly stored a message before the lost one was posted. */
export const isBefore = (lost: LostMessage, stored: StoredMessage): boolean =>
  isBeforeClaim(lost, { addedAt: stored.addedAt + lost.maxClockStepMs });

/** The same, provided that our clock was not set since the claim. */
export const isBeforeClaim = (
  { claimedAt }: Pick<LostMessage, 'claimedAt'>,
  { addedAt }: Pick<StoredMessage, 'addedAt'>,
): boolean => addedAt < claimedAt - TOLERANCE_MS;

const comparable = (text: string) => text.normalize('NFC').replaceAll(/\s+/g, ' ').trim();

function hasSameFiles(lost: LostMessage, { attachments }: StoredMessage): boolean {
  if (attachments.length !== lost.attachments.length) return false;
  return lost.mayHaveCopies || attachments.every((url, index) => url === lost.attachments[index]);
}
