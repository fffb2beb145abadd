import type { ReachResultFrame } from '@footbridge/protocol/frames';

import { NOT_ON_IMESSAGE } from '../../ports/messages/find-outcome.ts';
import { StoreUnavailableError } from '../../ports/messages/messages.ts';
import type { MessageStore, StoredRow } from '../../ports/messages/messages.ts';

type Reach = Pick<ReachResultFrame, 'reach' | 'reason'>;
type History = Pick<MessageStore, 'history' | 'sendState'>;

const MAX_ROWS = 50;

/** Returns how a person was last reached, according to the message store. Sends nothing. */
export function readReach(handle: string, store: History): Reach {
  try {
    const rows = store.history(handle, MAX_ROWS);
    for (const row of rows) {
      const shown = row.fromMe ? shownBySent(row, store) : shownByReceived(row);
      if (shown !== undefined) return shown;
    }
    return rows.length === 0
      ? { reach: 'unknown', reason: 'There is no message with this number yet.' }
      : {
          reach: 'unknown',
          reason: 'No message to this person was confirmed as delivered, and none was received.',
        };
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    const reason = `The message store of the Mac cannot be read (${error.problem}). Run footbridge-agent doctor there.`;
    return { reach: 'unknown', reason };
  }
}

function shownByReceived({ service }: StoredRow): Reach {
  const reason = `The person last wrote by ${service}.`;
  return { reach: service === 'iMessage' ? 'iMessage' : 'SMS', reason };
}

/** An iMessage without a receipt proves nothing: Messages shows it as sent even if the recipient has turned iMessage off. */
function shownBySent({ guid, service }: StoredRow, store: History): Reach | undefined {
  const state = store.sendState(guid);
  if (state === undefined) return undefined;
  if (service !== 'iMessage')
    return state.sent && state.error === 0
      ? { reach: 'SMS', reason: `The last message to this person was sent by ${service}.` }
      : undefined;
  if (state.error === NOT_ON_IMESSAGE)
    return {
      reach: 'SMS',
      reason: 'The last message to this person failed because the number is not on iMessage.',
    };
  return state.delivered && state.error === 0
    ? { reach: 'iMessage', reason: 'The last message to this person was delivered by iMessage.' }
    : undefined;
}
