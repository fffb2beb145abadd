import type { Clock } from '@footbridge/runtime/clock';

import { confirmByRow } from '../confirm-by-row.ts';
import { isReadable } from '../messages.ts';
import type { Destination, ExpectedMessage, MessageStore } from '../messages.ts';
import { hasNoOwnRows } from '../own-rows.ts';
import type { LastDispatch, Progress } from './last-dispatch.ts';
import { failed } from '../../../outcome.ts';
import { stagedName } from './stage-file.ts';
import type { Outcome } from '../../../outcome.ts';

const POLL_MS = 100;
/** How long a program that outlived the agent may still run. */
const PROGRAM_MS = 10_000;
/** How long the row of a message may take that Messages got before the agent was interrupted. */
const ROW_MS = 30_000;
/** The same for a message that, according to the record, Messages did not receive. */
const UNLIKELY_ROW_MS = 5_000;

export interface RecoveryDeps {
  readonly store: MessageStore;
  readonly clock: Clock;
  readonly lastDispatch: LastDispatch;
}

/**
 * Returns the outcome of a send that was interrupted. The program that sends outlives the agent, so its progress and the row in the
 * store decide it.
 */
export async function recoverOutcome(
  message: ExpectedMessage,
  destination: Destination,
  since: number,
  { store, clock, lastDispatch }: RecoveryDeps,
): Promise<Outcome> {
  const progress = isSentByEvent(message, destination)
    ? await programProgress(() => lastDispatch.progressOf(message, since), clock)
    : 'dispatched';
  const budgetMs = progress === 'nothing' ? UNLIKELY_ROW_MS : ROW_MS;
  const staged =
    message.kind === 'text'
      ? message
      : { ...message, file: { ...message.file, name: stagedName(message.file.name) } };
  const result = await confirmByRow({ message: staged, destination, since, budgetMs }, { store, clock });
  if (result.state !== 'unknown') return result;
  const isNotSent = progress === 'nothing' || (progress === 'unrecorded' && isNothingStored(store, since));
  return isNotSent ? NOT_SENT : result;
}

/** Messages stores each message within `ROW_MS`, so if there is no record, a store without any own row shows that nothing was sent. */
function isNothingStored(store: MessageStore, since: number): boolean {
  return isReadable(store.state()) && hasNoOwnRows(store, since);
}

/** Resolves when the program has ended or is sending, or after the timeout. */
async function programProgress(progressNow: () => Progress, clock: Clock): Promise<Progress> {
  const deadline = clock.monotonic() + PROGRAM_MS;
  let progress = progressNow();
  while (progress === 'running' && clock.monotonic() < deadline) {
    await clock.sleep(POLL_MS);
    progress = progressNow();
  }
  return progress;
}

const NOT_SENT = failed(
  'INTERNAL_ERROR',
  'The agent was interrupted before the message was sent. Nothing was sent. Send it again.',
);

/** Other messages are sent on the screen, and a group may be created there. */
function isSentByEvent(message: ExpectedMessage, destination: Destination): boolean {
  const isPlain = message.kind !== 'text' || (message.effect === undefined && message.replyTo === undefined);
  return isPlain && destination.to !== 'group';
}
