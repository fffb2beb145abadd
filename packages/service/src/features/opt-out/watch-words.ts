import type { AckOutcome, MessageReceivedFrame } from '@footbridge/protocol/frames';
import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';
import { SerialByKey } from '@footbridge/runtime/serial-by-key';

import { EngineError } from '../../platform/errors.ts';
import type { Phones } from '../../relay/people/handles.ts';
import type { UpdateContact } from '../../relay/crm/contact-calls.ts';
import { fixedDelay, retry } from '../../platform/retry/retry.ts';
import type { StoredSuppressions as Suppressions } from './suppressions-sql.ts';
import type { Deliver } from '../../relay/inbound/gate.ts';
import { optOutWord } from './opt-out-word.ts';

export interface WatchWordsDeps {
  readonly suppressions: Pick<Suppressions, 'set'>;
  readonly phones: Pick<Phones, 'recorded'>;
  readonly updateContact: UpdateContact;
  readonly clock: Clock;
  readonly log: Log;
}

const RETRY_POLICY = fixedDelay(3, 5000);

/**
 * Acts on words such as STOP and START (E4). Records the suppression before it delivers the message: when recording fails, the Mac gets
 * no acknowledgement and resends the message.
 */
export function watchWords(
  deliver: Deliver,
  { suppressions, phones, updateContact, clock, log }: WatchWordsDeps,
): Deliver {
  const chats = new SerialByKey<MessageReceivedFrame, { readonly ack: Promise<AckOutcome> } | 'retry'>();
  /** The CRM keeps the last change of a contact, so an earlier word must not be applied after a later one. */
  const contacts = new SerialByKey<MessageReceivedFrame>();

  async function setDnd(locationId: string, sender: string, isOn: boolean): Promise<void> {
    const set = await retry({
      attempt: () => updateContact('set_dnd', locationId, sender, dndFields(isOn)),
      policy: RETRY_POLICY,
      clock,
    });
    if (!set.ok)
      log.warn(
        { event: 'opt_out.dnd_not_set', locationId, reason: set.reason },
        'do not disturb not changed in the CRM, change it there by hand',
      );
  }

  /** Resolves with whether the opt-out is recorded. */
  async function record(locationId: string, frame: MessageReceivedFrame, isSuppressed: boolean) {
    const sentAt = Date.parse(frame.sentAt);
    try {
      await suppressions.set({
        locationId,
        handle: phones.recorded(frame.sender),
        isSuppressed,
        source: 'word',
        at: Number.isNaN(sentAt) ? undefined : Math.min(sentAt, clock.now()),
      });
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      log.warn({ event: 'opt_out.not_recorded', locationId, err: error }, 'opt-out not recorded, will retry');
      return false;
    }
    log.info({ event: 'opt_out.recorded', locationId, isSuppressed }, 'opt-out recorded');
    return true;
  }

  return async (lease, frame) => {
    const { locationId } = lease;
    const word = isPlainText(frame) ? optOutWord(frame.text) : undefined;
    // The CRM must reply: a text that this service sent by itself would not be in the conversation.
    if (word === 'help') log.info({ event: 'opt_out.help_requested', locationId }, 'customer asked for help');
    const isSuppressed = word === undefined || word === 'help' ? undefined : word === 'stop';
    const chat = `${locationId} ${frame.chat.id}`;
    // Later messages of the chat must not overtake a word that is being recorded (I5).
    if (isSuppressed === undefined && chats.newest(chat) === undefined) return deliver(lease, frame);
    const started = await chats.add(chat, frame, async (before) => {
      const isReady =
        before !== 'retry' && (isSuppressed === undefined || (await record(locationId, frame, isSuppressed)));
      // In an object, so that the next message is handed over without waiting for the acknowledgement.
      return isReady ? { ack: deliver(lease, frame) } : 'retry';
    });
    if (started === 'retry') return started;
    const outcome = await started.ack;
    if (outcome !== 'retry' && isSuppressed !== undefined)
      void contacts.add(`${locationId} ${phones.recorded(frame.sender)}`, frame, () =>
        setDnd(locationId, frame.sender, isSuppressed),
      );
    return outcome;
  };
}

/** The fields of a contact that turn "do not disturb" for texts on or off. */
const dndFields = (isOn: boolean) => ({
  dndSettings: {
    SMS: isOn
      ? { status: 'active', message: 'The recipient asked to stop.', code: 'STOP' }
      : { status: 'inactive', message: 'The recipient asked to start again.', code: 'START' },
  },
});

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
