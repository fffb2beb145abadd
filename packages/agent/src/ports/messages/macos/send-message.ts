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
import { stageFile } from './stage-file.ts';

export interface SendDeps extends DispatchDeps {
  readonly store: MessageStore;
  /** Folders that Messages can read, the best one first. */
  readonly stagingFolders: readonly [string, ...string[]];
}

const TEXT_BUDGET_MS = 30_000;
const SMS_BUDGET_MS = 60_000;
const FILE_BUDGET_MS = 60_000;
const MAX_FILE_BUDGET_MS = 20 * 60_000;
const BYTES_PER_MS = 1_000;
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
  const [first, second = first] = deps.stagingFolders;
  const result = await attemptFile(message, destination, target, first, deps);
  const isUnreadable = result.result === 'failed' && FILE_ERRORS.test(result.message);
  return isUnreadable ? attemptFile(message, destination, target, second, deps) : result;
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
    file = await stageFile(folder, message.file);
  } catch {
    return failed(
      'IMESSAGE_ERROR',
      'The file cannot be copied to where Messages reads it. Nothing was sent.',
    );
  }
  return attempt({ ...message, file }, destination, target, deps);
}

async function attempt(
  message: OutgoingMessage,
  destination: Destination,
  { to, service }: Target,
  deps: SendDeps,
): Promise<SendResult> {
  const before = fromStore(() => ({ position: deps.store.position() }));
  if ('result' in before) return before;
  const content = message.kind === 'text' ? { text: message.text } : { file: message.file.path };
  const dispatched = await dispatchMessage({ service, target: to, content }, deps);
  if (dispatched.result === 'failed') return dispatched;
  const budgetMs = await budget(message, service);
  return confirmByRow({ message, destination, since: before.position, budgetMs }, deps);
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

async function budget(message: OutgoingMessage, service: ServiceName): Promise<number> {
  if (message.kind === 'text') return service === 'iMessage' ? TEXT_BUDGET_MS : SMS_BUDGET_MS;
  const { size } = await stat(message.file.path);
  return Math.min(FILE_BUDGET_MS + size / BYTES_PER_MS, MAX_FILE_BUDGET_MS);
}
