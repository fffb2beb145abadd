import { failed } from '../../outcome.ts';
import type { Failed } from '../../outcome.ts';
import { StoreUnavailableError } from './messages.ts';

/** Returns what `read` returns. Returns a failure when the store cannot be read, because a send could not be confirmed then. */
export function fromStore<T>(read: () => T): T | Failed {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    const why = `The message store cannot be read (${error.problem}), so a send could not be confirmed.`;
    return failed('IMESSAGE_ERROR', `${why} Run footbridge-agent doctor. Nothing was sent.`);
  }
}
