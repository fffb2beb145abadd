import type { Clock } from '@footbridge/runtime/clock';

import { outcomeOfRows } from './find-outcome.ts';
import { StoreUnavailableError } from './messages.ts';
import type { Destination, ExpectedMessage, MessageStore } from './messages.ts';
import { findSentRows } from './own-rows.ts';
import type { SentRows } from './own-rows.ts';
import type { Outcome } from '../../outcome.ts';

const POLL_MS = 100;
/** The row of a send that went nowhere has no chat. A real row is joined to its chat within this time. */
const GHOST_MS = 5_000;

export interface Confirmation {
  readonly message: ExpectedMessage;
  readonly destination: Destination;
  /** The position of the store before the send. */
  readonly since: number;
  /** How long to wait for the row. After that the outcome is unknown. */
  readonly budgetMs: number;
}

/** Waits until the store shows the outcome of a message that Messages received or may have received. */
export async function confirmByRow(
  { message, destination, since, budgetMs }: Confirmation,
  { store, clock }: { readonly store: MessageStore; readonly clock: Clock },
): Promise<Outcome> {
  const started = clock.monotonic();
  for (;;) {
    const waited = clock.monotonic() - started;
    const result = whileReadable(() => {
      const rows = findSentRows(store, message, destination, since);
      const outcome = outcomeOfRows(rows, store);
      const isGhost = waited >= GHOST_MS && rows !== undefined && isOnlyGhost(rows);
      return outcome.state === 'unknown' && isGhost ? GHOST : outcome;
    });
    if (result.state !== 'unknown' || waited >= budgetMs) return result;
    await clock.sleep(POLL_MS);
  }
}

function isOnlyGhost({ here, ghosts, isComplete }: SentRows): boolean {
  return here.length === 0 && ghosts.length > 0 && isComplete;
}

const GHOST: Outcome = {
  state: 'failed',
  code: 'IMESSAGE_ERROR',
  message: 'Messages stored the message without a chat: it was not sent.',
};

function whileReadable(read: () => Outcome): Outcome {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    const message = `outcome unknown: the message store cannot be read (${error.problem})`;
    return { state: 'unknown', code: 'TIMEOUT', message };
  }
}
