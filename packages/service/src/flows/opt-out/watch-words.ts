import type { AckOutcome, MessageReceivedFrame } from '@footbridge/protocol/frames';
import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';

import { EngineError } from '../../errors.ts';
import type { Attempt } from '../../ports/crm/attempt.ts';
import { fixedDelay } from '../../ports/crm/retry-policies.ts';
import { retry } from '../../ports/crm/retry.ts';
import type { Suppressions } from '../../ports/suppressions/suppressions.ts';
import type { Lease } from '../../ports/switchboard/switchboard.ts';
import { optOutWord } from './opt-out-word.ts';

/** Sets or clears "do not disturb" for texts of a contact in the CRM. One attempt; never rejects. */
export interface DndCalls {
  setDnd(locationId: string, handle: string, isOn: boolean): Promise<Attempt<unknown>>;
}

export type Deliver = (lease: Lease, frame: MessageReceivedFrame) => Promise<AckOutcome>;

export interface WatchWordsDeps {
  readonly suppressions: Pick<Suppressions, 'set'>;
  readonly calls: DndCalls;
  readonly clock: Clock;
  readonly log: Log;
}

const RETRY_POLICY = fixedDelay(3, 5000);

/**
 * Acts on words such as STOP and START (E4). Records the suppression before it delivers the message: when recording fails, the Mac gets
 * no acknowledgement and resends the message.
 */
export function watchWords(deliver: Deliver, { suppressions, calls, clock, log }: WatchWordsDeps): Deliver {
  async function setDnd(locationId: string, sender: string, isOn: boolean): Promise<void> {
    const set = await retry({
      attempt: () => calls.setDnd(locationId, sender, isOn),
      policy: RETRY_POLICY,
      clock,
    });
    if (!set.ok)
      log.warn(
        { event: 'opt_out.dnd_not_set', locationId, reason: set.reason },
        'do not disturb not changed in the CRM, change it there by hand',
      );
  }

  return async (lease, frame) => {
    const word = isPlainText(frame) ? optOutWord(frame.text) : undefined;
    if (word === undefined) return deliver(lease, frame);
    const { locationId } = lease;
    // The CRM must reply: a text that this service sent by itself would not be in the conversation.
    if (word === 'help') {
      log.info({ event: 'opt_out.help_requested', locationId }, 'customer asked for help');
      return deliver(lease, frame);
    }
    const isSuppressed = word === 'stop';
    const sentAt = Date.parse(frame.sentAt);
    try {
      await suppressions.set({
        locationId,
        handle: frame.sender,
        isSuppressed,
        source: 'word',
        at: Number.isNaN(sentAt) ? undefined : Math.min(sentAt, clock.now()),
      });
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      log.warn({ event: 'opt_out.not_recorded', locationId, err: error }, 'opt-out not recorded, will retry');
      return 'retry';
    }
    log.info({ event: 'opt_out.recorded', locationId, isSuppressed }, 'opt-out recorded');
    const outcome = await deliver(lease, frame);
    if (outcome !== 'retry') void setDnd(locationId, frame.sender, isSuppressed);
    return outcome;
  };
}

/** Excludes groups, where a word may be meant for someone else, and what the owner of the Mac typed. */
const isPlainText = ({
  chat,
  fromMe,
  reaction,
  sticker,
  voice,
  attachments,
}: MessageReceivedFrame): boolean =>
  !chat.isGroup &&
  fromMe !== true &&
  reaction === undefined &&
  sticker === undefined &&
  voice === undefined &&
  attachments.length === 0;
