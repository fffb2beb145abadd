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
/** How long to wait for the row of a message that Messages received before the agent was interrupted. */
const ROW_MS = 30_000;
/** How long to wait for the row of a message that Messages did not receive, according to the record. */
const UNLIKELY_ROW_MS = 5_000;

export interface RecoveryDeps {
  readonly store: MessageStore;
  readonly clock: Clock;
  readonly lastDispatch: LastDispatch;
}

/**
 * Resolves with the outcome of an interrupted send. The send program outlives the agent, so the outcome follows from its progress and from
 * the row in the store.
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

/** Messages stores each message within `ROW_MS`, so without a record, a store without any own row proves that nothing was sent. */
function isNothingStored(store: MessageStore, since: number): boolean {
  return isReadable(store.state()) && hasNoOwnRows(store, since);
}

/** Resolves when the program has ended or dispatched the message, or after the timeout. */
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
