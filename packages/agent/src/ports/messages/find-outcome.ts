import type { Destination, ExpectedMessage, MessageStore } from './messages.ts';
import { findSentRows } from './own-rows.ts';
import type { SentRows } from './own-rows.ts';
import type { Outcome } from '../../outcome.ts';

export const NOT_ON_IMESSAGE = 22;

/**
 * Looks in the store for the outcome of a send after `since`, a position of the store. The agent sends one message at a time, so an own row
 * with this content in this conversation belongs to the send. Without such a row the outcome stays unknown, because Messages may store it
 * later.
 */
export function findOutcome(
  store: MessageStore,
  message: ExpectedMessage,
  destination: Destination,
  since: number,
): Outcome {
  return outcomeOfRows(findSentRows(store, message, destination, since), store);
}

/** Returns the outcome that the rows of a send show. */
export function outcomeOfRows(rows: SentRows | undefined, store: Pick<MessageStore, 'sendState'>): Outcome {
  if (rows === undefined) return unknown('the message store was replaced during the send');
  const states = rows.here.flatMap((row) => store.sendState(row.guid) ?? []);
  const sent = states.find((state) => state.sent && state.error === 0);
  if (sent !== undefined) return { state: 'delivered', guid: sent.guid };
  const [failure] = states;
  if (failure === undefined)
    return unknown(
      rows.elsewhere.length > 0
        ? 'the message store shows the message only in another conversation'
        : 'the message store does not show the message',
    );
  if (states.some((state) => !state.finished || state.error === 0))
    return unknown('Messages is still sending');
  // The message may have arrived. A failure would allow another send.
  if (states.some((state) => state.sent))
    return unknown(`Messages sent the message and reported error ${failure.error} afterwards`);
  return {
    state: 'failed',
    code: 'IMESSAGE_ERROR',
    message: `error ${failure.error}: Messages did not send the message`,
    ...(failure.error === NOT_ON_IMESSAGE ? { notOnIMessage: true } : {}),
  };
}

function unknown(reason: string): Outcome {
  return { state: 'unknown', code: 'TIMEOUT', message: `outcome unknown: ${reason}` };
}
