import type { Clock } from '@footbridge/runtime/clock';

import { StoreUnavailableError } from '../../ports/messages/messages.ts';
import type { MessageStore } from '../../ports/messages/messages.ts';
import type { Outcome } from '../../outcome.ts';

/** Milliseconds from the beginning of a send. A time that was not observed is absent. */
export interface SendTimes {
  readonly rowMs?: number;
  readonly sentMs?: number;
  readonly deliveredMs?: number;
}

const POLL_MS = 50;
const DELIVERY_WAIT_MS = 10_000;
const NEW_ROWS = 100;

/** Sends a message and measures when its row appears, is marked as sent, and is marked as delivered. */
export async function measureSend(
  send: () => Promise<Outcome>,
  { store, clock }: { readonly store: MessageStore; readonly clock: Clock },
): Promise<{ readonly result: Outcome; readonly times: SendTimes }> {
  const since = store.newestRowid();
  const started = clock.monotonic();
  let guid: string | undefined;
  let times: SendTimes = {};
  const look = (): void => {
    guid ??= store.rowsAfter(since, NEW_ROWS).find(({ fromMe }) => fromMe)?.guid;
    const state = guid === undefined ? undefined : store.sendState(guid);
    if (state === undefined) return;
    const now = Math.round(clock.monotonic() - started);
    times = {
      rowMs: now,
      ...(state.sent && { sentMs: now }),
      ...(state.delivered && { deliveredMs: now }),
      ...times,
    };
  };
  const sending = send();
  const tick = (): Promise<undefined> => clock.sleep(POLL_MS).then(() => undefined);
  let result = await Promise.race([sending, tick()]);
  for (; result === undefined; result = await Promise.race([sending, tick()])) whileReadable(look);
  if (result.state !== 'delivered') return { result, times: {} };
  const deadline = clock.monotonic() + DELIVERY_WAIT_MS;
  for (whileReadable(look); isIncomplete(times) && clock.monotonic() < deadline; whileReadable(look))
    await clock.sleep(POLL_MS);
  // The owner can send another message on the phone at the same moment.
  return { result, times: guid === result.guid ? times : {} };
}

const isIncomplete = ({ deliveredMs }: SendTimes): boolean => deliveredMs === undefined;

function whileReadable(look: () => void): void {
  try {
    look();
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
  }
}
