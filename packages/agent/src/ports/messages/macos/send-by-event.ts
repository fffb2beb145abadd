import { stat } from 'node:fs/promises';

import { confirmByRow } from '../confirm-by-row.ts';
import { fromStore } from '../from-store.ts';
import type { Destination, LocalFile, MessageStore, OutgoingMessage, ServiceName } from '../messages.ts';
import { dispatchMessage } from './dispatch-message.ts';
import type { DispatchDeps } from './dispatch-message.ts';
import { resolveTarget } from './resolve-target.ts';
import type { Target } from './resolve-target.ts';
import { removeStaged, stageFile } from './stage-file.ts';
import { failed } from '../../../outcome.ts';
import type { Outcome } from '../../../outcome.ts';

export interface EventDeps extends Omit<DispatchDeps, 'position'> {
  readonly store: MessageStore;
  readonly onDispatched?: (() => void) | undefined;
  /** One or two folders that Messages can read, the better one first. */
  readonly stagingFolders: readonly [first: string, second?: string];
  /** Whether old files may be deleted. */
  readonly mayDelete: () => boolean;
}

const TEXT_BUDGET_MS = 30_000;
const SMS_BUDGET_MS = 60_000;
const FILE_BUDGET_MS = 60_000;
/** How long to wait for the row of a message that Messages most likely did not receive. Rows appear within three seconds. */
const UNLIKELY_BUDGET_MS = 5_000;
const MAX_FILE_BUDGET_MS = 20 * 60_000;
const BYTES_PER_MS = 1_000;
const NOT_STAGED = 'The file cannot be copied to a folder that Messages reads. Nothing was sent.';
/** The errors with which Messages reports that it could not read the file. */
const FILE_ERRORS = /^error (25|34|41):/;

/**
 * Sends a text or a file with an Apple event. Resolves the recipient, sends once, and takes the outcome from the row in the store. A message
 * that may have been sent is never sent again.
 */
export async function sendByEvent(
  message: OutgoingMessage,
  destination: Destination,
  deps: EventDeps,
): Promise<Outcome> {
  const target = fromStore(() => resolveTarget(destination, deps.store));
  if ('state' in target) return target;
  if (message.kind === 'text') return sendOnce(message, destination, target, deps);
  const [first, second] = deps.stagingFolders;
  const result = await sendFile(message, destination, target, first, deps);
  const isUnreadable =
    result.state === 'failed' && (FILE_ERRORS.test(result.message) || result.message === NOT_STAGED);
  return isUnreadable && second !== undefined ? sendFile(message, destination, target, second, deps) : result;
}

async function sendFile(
  message: Exclude<OutgoingMessage, { kind: 'text' }>,
  destination: Destination,
  target: Target,
  folder: string,
  deps: EventDeps,
): Promise<Outcome> {
  let file: LocalFile;
  try {
    file = await stageFile(folder, message.file, deps.mayDelete() ? deps.clock.now() : undefined);
  } catch {
    return failed('IMESSAGE_ERROR', NOT_STAGED);
  }
  const result = await sendOnce({ ...message, file }, destination, target, deps);
  if (result.state === 'failed') await removeStaged(file);
  return result;
}

async function sendOnce(
  message: OutgoingMessage,
  destination: Destination,
  target: Target,
  deps: EventDeps,
): Promise<Outcome> {
  const before = fromStore(() => ({ position: deps.store.position() }));
  if ('state' in before) return before;
  const dispatched = await dispatchMessage(message, target, { ...deps, position: before.position });
  if (dispatched.state === 'failed') return dispatched;
  deps.onDispatched?.();
  const { failure } = dispatched;
  const budgetMs = failure === undefined ? await rowBudget(message, target.service) : UNLIKELY_BUDGET_MS;
  const result = await confirmByRow({ message, destination, since: before.position, budgetMs }, deps);
  return result.state === 'unknown' ? (failure ?? result) : result;
}

/** Returns how long the row of a message may take. */
async function rowBudget(message: OutgoingMessage, service: ServiceName): Promise<number> {
  if (message.kind === 'text') return service === 'iMessage' ? TEXT_BUDGET_MS : SMS_BUDGET_MS;
  const { size } = await stat(message.file.path);
  return Math.min(FILE_BUDGET_MS + size / BYTES_PER_MS, MAX_FILE_BUDGET_MS);
}
