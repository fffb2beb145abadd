import type { AckOutcome } from '@footbridge/protocol/frames';

import type { LastStatus } from '../journal/journal.ts';
import type { StatusDelivery, StatusSource } from './delivery-queue.ts';
import { messageKey } from './delivery-queue.ts';
import type { Status } from './status-calls.ts';

/** The last status of a message, as far as it is known. */
export type KnownStatus = LastStatus | 'none';

/** One attempt to send a message. Repeated requests for the message share it until it ends as `failed` (A5). */
export interface MessageAttempt {
  /** The request that began it. */
  readonly requestId: string;
  readonly locationId: string;
  /** Undefined when the message has no id, so that no status can be reported. */
  readonly messageId: string | undefined;
  readonly key: string | undefined;
  /** The lease under which `lastStatus` was read. Under a later lease, another node may have reported since. */
  epoch: number;
  lastStatus: KnownStatus | Promise<KnownStatus>;
  /** Whether the message is known to have requests from before this attempt. */
  isRepeat: boolean;
  /** Its `pending`, until that is sent or not needed. */
  pending: StatusDelivery | undefined;
  /** Its `pending` could not be sent, because the location had another owner. */
  isPendingMissing: boolean;
  /**
   * Set when a report of the Mac restored the attempt. The CRM may have accepted more statuses than the journal has. `unverified`: the
   * journal does not have the request, so the Mac may have invented it.
   */
  restored: 'known' | 'unverified' | undefined;
  /** The outcome, from the Mac or from a rejection; undefined until then. */
  outcome: 'delivered' | 'failed' | undefined;
  /** How its terminal status ends or ended; undefined until the Mac reports. */
  terminal: Promise<AckOutcome> | undefined;
  /** Its terminal status, from the Mac or from a rejection, while it is being delivered. */
  delivery: StatusDelivery | undefined;
}

/** Shared by all attempts, so that an attempt does not keep the promise of its call in memory. */
export const DELIVERED: Promise<AckOutcome> = Promise.resolve({ outcome: 'delivered' });

export const newAttempt = (
  requestId: string,
  locationId: string,
  messageId: string | undefined,
  epoch: number,
): MessageAttempt => ({
  requestId,
  locationId,
  messageId,
  key: messageId === undefined ? undefined : messageKey(locationId, messageId),
  epoch,
  lastStatus: 'none',
  isRepeat: false,
  pending: undefined,
  isPendingMissing: false,
  restored: undefined,
  outcome: undefined,
  terminal: undefined,
  delivery: undefined,
});

/**
 * Whether a status may follow the last one that the CRM was told (A4, A5). Nothing follows `delivered`. `pending` begins an attempt: the
 * first one, or another after one that failed or was rejected. A frame that was or may have been `written` to the Mac is under way, so that
 * the rejection of another request says nothing about the message.
 */
export function mayFollow(last: KnownStatus, source: StatusSource, status: Status): boolean {
  if (source === 'terminal') return last !== 'delivered' && last !== status;
  if (last === 'written' || last === 'uncertain') return source === 'pending';
  return last === 'none' || last === 'repeated' || last === 'failed';
}
