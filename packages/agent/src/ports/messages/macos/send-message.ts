import { stat } from 'node:fs/promises';

import type { Clock } from '@footbridge/runtime/clock';

import { chatRowOf } from '../chat-ids.ts';
import { findOutcome } from '../find-outcome.ts';
import { StoreUnavailableError } from '../messages.ts';
import type {
  Chat,
  Destination,
  LocalFile,
  MessageStore,
  OutgoingMessage,
  SendFailure,
  SendResult,
  ServiceName,
} from '../messages.ts';
import type { Osascript } from './osascript.ts';
import { sendProgram } from './programs/send.ts';
import type { SendInput, SendLine } from './programs/send.ts';
import { eventFailure, isNotRunning, unresolvedFailure } from './send-errors.ts';
import { stageFile } from './stage-file.ts';

export interface SendDeps {
  readonly store: MessageStore;
  readonly osascript: Osascript;
  readonly clock: Clock;
  /** Folders that Messages can read, the best one first. */
  readonly stagingFolders: readonly [string, ...string[]];
  /** Starts Messages. Resolves when the command has ended. */
  readonly startMessages: () => Promise<void>;
}

/** An Apple event may wait for a permission prompt. macOS takes an unanswered prompt of two minutes for a denial. */
const PROGRAM_TIMEOUT_MS = 150_000;
const START_WAIT_MS = 20_000;
const POLL_MS = 100;
const TEXT_BUDGET_MS = 30_000;
const SMS_BUDGET_MS = 60_000;
const FILE_BUDGET_MS = 60_000;
const MAX_FILE_BUDGET_MS = 20 * 60_000;
const BYTES_PER_MS = 1_000;
/** The row of a send that went nowhere has no chat. A real one is joined to its chat within this time. */
const GHOST_MS = 5_000;
const GHOST_ROWS = 50;
/** Errors of Messages that mean that it could not read the file. */
const FILE_ERRORS = /^error (25|34|41):/;

type Dispatched =
  /** Messages got the message, or may have got it. */
  { readonly result: 'dispatched' } | SendFailure;

/**
 * Sends a text or a file through Messages: resolves the recipient, sends once, and takes the outcome from the row in the store.
 * A message that may have been sent is never sent again.
 */
export async function sendMessage(
  message: OutgoingMessage,
  destination: Destination,
  deps: SendDeps,
): Promise<SendResult> {
  const target = targetOf(destination, deps.store);
  if ('result' in target) return target;
  if (message.kind === 'text') return attempt(message, destination, target, deps);
  const [first, second = first] = deps.stagingFolders;
  const result = await attemptFile(message, destination, target, first, deps);
  const isUnreadable = result.result === 'failed' && FILE_ERRORS.test(result.message);
  return isUnreadable ? attemptFile(message, destination, target, second, deps) : result;
}

interface Target {
  readonly to: SendInput['target'];
  readonly service: ServiceName;
}

function targetOf(destination: Destination, store: MessageStore): Target | SendFailure {
  try {
    if (destination.to === 'person')
      return { to: { person: destination.handle }, service: destination.service };
    const chat =
      destination.to === 'chat'
        ? store.chat(destination.chatId)
        : store.groupOf(destination.recipients, destination.service);
    if (typeof chat !== 'object') return noChat(destination);
    const [person] = chat.recipients;
    if (!chat.isGroup && person !== undefined) return { to: { person }, service: chat.service };
    return { to: { group: groupIds(chat), members: chat.recipients }, service: chat.service };
  } catch (error) {
    if (error instanceof StoreUnavailableError) return storeFailure(error);
    throw error;
  }
}

function noChat(destination: Destination): SendFailure {
  if (destination.to === 'group')
    return failed(
      'IMESSAGE_GROUP_INVALID_RECIPIENTS',
      'This Mac has no group with exactly these recipients, and this version cannot create one. Nothing was sent.',
    );
  return failed('IMESSAGE_ERROR', 'The chat does not exist on this Mac. Nothing was sent.');
}

/** Since macOS 26 the store says `any;+;…` where Messages may say `iMessage;+;…`. It is never addressed as a direct chat. */
function groupIds({ key }: Chat): string[] {
  const identifier = key.slice(key.lastIndexOf(';') + 1);
  return [...new Set([key, `any;+;${identifier}`, `iMessage;+;${identifier}`, `SMS;+;${identifier}`])].filter(
    (id) => !id.startsWith('any;-;'),
  );
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
  let since: number;
  try {
    since = deps.store.position();
  } catch (error) {
    if (error instanceof StoreUnavailableError) return storeFailure(error);
    throw error;
  }
  const content = message.kind === 'text' ? { text: message.text } : { file: message.file.path };
  const dispatched = await dispatch({ service, target: to, content }, deps);
  if (dispatched.result === 'failed') return dispatched;
  return confirm(message, destination, since, await budget(message, service), deps);
}

/** Runs the program once, and a second time only if Messages was not running and nothing was sent. */
async function dispatch(input: SendInput, deps: SendDeps): Promise<Dispatched> {
  const first = await runProgram(input, deps);
  if (typeof first !== 'number') return first;
  if (!isNotRunning(first)) return eventFailure(first);
  await deps.startMessages();
  const deadline = deps.clock.monotonic() + START_WAIT_MS;
  for (;;) {
    const next = await runProgram(input, deps);
    if (typeof next !== 'number') return next;
    if (!isNotRunning(next) || deps.clock.monotonic() >= deadline) return eventFailure(next);
    await deps.clock.sleep(1_000);
  }
}

/** Resolves with the number of an Apple event error when nothing was sent because of it. */
async function runProgram(input: SendInput, { osascript }: SendDeps): Promise<Dispatched | number> {
  const { lines, end } = await osascript.run(sendProgram, input, PROGRAM_TIMEOUT_MS);
  if (end === 'not_started')
    return failed('IMESSAGE_ERROR', 'osascript cannot be started. Nothing was sent.');
  const steps = lines as readonly SendLine[];
  if (end === 'overflowed' || steps.some(({ step }) => step === 'dispatching'))
    return { result: 'dispatched' };
  const last = steps.at(-1);
  if (last?.step === 'unresolved') return unresolvedFailure(last.reason);
  if (last?.step === 'error') return last.number;
  return failed('IMESSAGE_ERROR', 'Messages could not be reached in time. Nothing was sent.');
}

async function budget(message: OutgoingMessage, service: ServiceName): Promise<number> {
  if (message.kind === 'text') return service === 'iMessage' ? TEXT_BUDGET_MS : SMS_BUDGET_MS;
  const { size } = await stat(message.file.path);
  return Math.min(FILE_BUDGET_MS + size / BYTES_PER_MS, MAX_FILE_BUDGET_MS);
}

/** Waits for the row of the message. */
async function confirm(
  message: OutgoingMessage,
  destination: Destination,
  since: number,
  budgetMs: number,
  { store, clock }: SendDeps,
): Promise<SendResult> {
  const started = clock.monotonic();
  for (;;) {
    const result = readOutcome(store, message, destination, since);
    if (result.result !== 'unknown') return result;
    const waited = clock.monotonic() - started;
    if (waited >= GHOST_MS && hasGhost(store, since))
      return failed('IMESSAGE_ERROR', 'Messages stored the message without a chat: it was not sent.');
    if (waited >= budgetMs) return result;
    await clock.sleep(POLL_MS);
  }
}

function readOutcome(
  store: MessageStore,
  message: OutgoingMessage,
  destination: Destination,
  since: number,
): SendResult {
  try {
    return findOutcome(store, message, destination, since);
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    const reason = `outcome unknown: the message store cannot be read (${error.problem})`;
    return { result: 'unknown', code: 'TIMEOUT', message: reason };
  }
}

/** macOS 26 writes an own row without text and chat when it cannot address a group. */
function hasGhost(store: MessageStore, since: number): boolean {
  try {
    const rowid = chatRowOf(store.generation(), since);
    const rows = rowid === undefined ? [] : store.rowsAfter(rowid, GHOST_ROWS);
    return rows.some((row) => row.fromMe && row.chatId === undefined && row.text === '');
  } catch {
    return false;
  }
}

function storeFailure({ problem }: StoreUnavailableError): SendFailure {
  const why = `The message store cannot be read (${problem}), so a send could not be confirmed.`;
  return failed('IMESSAGE_ERROR', `${why} Run footbridge-agent doctor. Nothing was sent.`);
}

function failed(code: SendFailure['code'], message: string): SendFailure {
  return { result: 'failed', code, message };
}
