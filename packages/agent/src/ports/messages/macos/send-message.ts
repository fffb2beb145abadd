import { stat } from 'node:fs/promises';

import { confirmByRow } from '../confirm-by-row.ts';
import { StoreUnavailableError } from '../messages.ts';
import type {
  Destination,
  LocalFile,
  MessageStore,
  OutgoingMessage,
  SendFailure,
  SendResult,
  ServiceName,
} from '../messages.ts';
import { dispatchMessage } from './dispatch-message.ts';
import type { DispatchDeps } from './dispatch-message.ts';
import { resolveTarget } from './resolve-target.ts';
import type { Target } from './resolve-target.ts';
import { failed, storeFailure } from './send-errors.ts';
import { removeStaged, stageFile } from './stage-file.ts';

export interface SendDeps extends Omit<DispatchDeps, 'position'> {
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
/** For the row of a message that Messages most likely did not get. Rows appear within three seconds. */
const UNLIKELY_BUDGET_MS = 5_000;
const MAX_FILE_BUDGET_MS = 20 * 60_000;
const BYTES_PER_MS = 1_000;
const NOT_STAGED = 'The file cannot be copied to a folder that Messages reads. Nothing was sent.';
/** Errors of Messages that mean that it could not read the file. */
const FILE_ERRORS = /^error (25|34|41):/;

/**
 * Sends a text or a file through Messages: resolves the recipient, sends once, and takes the outcome from the row in the store.
 * A message that may have been sent is never sent again.
 */
export async function sendMessage(
  message: OutgoingMessage,
  destination: Destination,
  deps: SendDeps,
): Promise<SendResult> {
  const target = fromStore(() => resolveTarget(destination, deps.store));
  if ('result' in target) return target;
  if (message.kind === 'text') return attempt(message, destination, target, deps);
  const [first, second] = deps.stagingFolders;
  const result = await attemptFile(message, destination, target, first, deps);
  const isUnreadable =
    result.result === 'failed' && (FILE_ERRORS.test(result.message) || result.message === NOT_STAGED);
  return isUnreadable && second !== undefined
    ? attemptFile(message, destination, target, second, deps)
    : result;
}

async function attemptFile(
  message: Exclude<OutgoingMessage, { kind: 'text' }>,
  destination: Destination,
  target: Target,
  folder: string,
  deps: SendDeps,
): Promise<SendResult> {
  let file: LocalFile;
  try {
    file = await stageFile(folder, message.file, deps.mayDelete() ? deps.clock.now() : undefined);
  } catch {
    return failed('IMESSAGE_ERROR', NOT_STAGED);
  }
  const result = await attempt({ ...message, file }, destination, target, deps);
  if (result.result === 'failed') await removeStaged(file);
  return result;
}

async function attempt(
  message: OutgoingMessage,
  destination: Destination,
  target: Target,
  deps: SendDeps,
): Promise<SendResult> {
  const before = fromStore(() => ({ position: deps.store.position() }));
  if ('result' in before) return before;
  const dispatched = await dispatchMessage(message, target, { ...deps, position: before.position });
  if (dispatched.result === 'failed') return dispatched;
  deps.onDispatched?.();
  const { failure } = dispatched;
  const budgetMs = failure === undefined ? await rowBudget(message, target.service) : UNLIKELY_BUDGET_MS;
  const result = await confirmByRow({ message, destination, since: before.position, budgetMs }, deps);
  return result.result === 'unknown' ? (failure ?? result) : result;
}

/** Returns what `read` returns, or a failure when the store cannot be read: a send could not be confirmed then. */
function fromStore<T>(read: () => T): T | SendFailure {
  try {
    return read();
  } catch (error) {
    if (error instanceof StoreUnavailableError) return storeFailure(error);
    throw error;
  }
}

/** Returns how long the row of a message may take. */
export async function rowBudget(message: OutgoingMessage, service: ServiceName): Promise<number> {
  if (message.kind === 'text') return service === 'iMessage' ? TEXT_BUDGET_MS : SMS_BUDGET_MS;
  const { size } = await stat(message.file.path);
  return Math.min(FILE_BUDGET_MS + size / BYTES_PER_MS, MAX_FILE_BUDGET_MS);
}
