import type { Clock } from '@footbridge/runtime/clock';

import type { OutgoingMessage } from '../messages.ts';
import type { LastDispatch } from './last-dispatch.ts';
import type { Osascript, ProgramRecord } from './osascript.ts';
import { SEND } from './bundled-programs.ts';
import type { SendInput, SendLine } from './programs/send.ts';
import type { Target } from './resolve-target.ts';
import { eventFailure, isNotRunning, isRefusal, unresolvedFailure } from './send-errors.ts';
import { failed } from '../../../outcome.ts';
import type { Failed } from '../../../outcome.ts';

export interface DispatchDeps {
  readonly osascript: Osascript;
  readonly lastDispatch: LastDispatch;
  readonly clock: Clock;
  /** Aborted when the send is given up. Nothing is dispatched after that. */
  readonly givenUp: AbortSignal;
  /** Starts Messages. Resolves when the command has ended. */
  readonly startMessages: () => Promise<void>;
  /** The position of the store before the send. */
  readonly position: number;
}

export type Dispatched =
  /** Messages received the message or may have received it. `failure` is the outcome unless a row appears: most likely it did not. */
  { readonly state: 'dispatched'; readonly failure?: Failed } | Failed;

/** An Apple event may wait for a permission prompt. After two minutes without an answer, macOS counts the prompt as denied. */
const PROGRAM_TIMEOUT_MS = 150_000;
const START_WAIT_MS = 20_000;

/** Runs the program once, and again only while Messages is not running and nothing was sent. */
export async function dispatchMessage(
  message: OutgoingMessage,
  target: Target,
  deps: DispatchDeps,
): Promise<Dispatched> {
  const first = await runProgram(message, target, deps);
  if (typeof first !== 'number') return first;
  if (!isNotRunning(first)) return eventFailure(first);
  await deps.startMessages();
  const deadline = deps.clock.monotonic() + START_WAIT_MS;
  for (;;) {
    const next = await runProgram(message, target, deps);
    if (typeof next !== 'number') return next;
    if (!isNotRunning(next) || deps.clock.monotonic() >= deadline) return eventFailure(next);
    await deps.clock.sleep(1_000);
  }
}

/** Resolves with the number of the Apple event error that prevented the send, if there was one. */
async function runProgram(
  message: OutgoingMessage,
  { to, service }: Target,
  { osascript, lastDispatch, givenUp, position }: DispatchDeps,
): Promise<Dispatched | number> {
  if (givenUp.aborted) return failed('IMESSAGE_ERROR', 'The send was given up. Nothing was sent.');
  const content =
    message.kind === 'text' ? { text: message.text.toWellFormed() } : { file: message.file.path };
  const input: SendInput = { service, target: to, content };
  try {
    lastDispatch.begin(message, position);
  } catch {
    return failed('IMESSAGE_ERROR', 'The disk of the Mac cannot be written to. Nothing was sent.');
  }
  const record: ProgramRecord = {
    path: lastDispatch.path,
    started: (pid) => {
      // The send may have been given up while the program waited for an earlier one.
      givenUp.throwIfAborted();
      lastDispatch.started(pid);
    },
  };
  const { lines, end } = await osascript.run(SEND, input, PROGRAM_TIMEOUT_MS, record);
  // The record also has lines that are not steps.
  const steps = (lines as readonly Partial<SendLine>[]).filter((line): line is SendLine => 'step' in line);
  const last = steps.at(-1);
  if (end === 'not_started')
    return failed('IMESSAGE_ERROR', 'osascript cannot be started. Nothing was sent.');
  if (end === 'overflowed') return { state: 'dispatched' };
  if (steps.some(({ step }) => step === 'dispatching')) {
    const isRefused = last?.step === 'error' && isRefusal(last.number);
    return { state: 'dispatched', ...(isRefused && { failure: eventFailure(last.number) }) };
  }
  if (last?.step === 'unresolved') return unresolvedFailure(last.reason);
  if (last?.step === 'error') return last.number;
  if (end === 'stopped') return failed('IMESSAGE_ERROR', NO_RESPONSE);
  // The program always reports what it did, so another program ran.
  const failure = failed('IMESSAGE_ERROR', 'osascript did not run as expected. Nothing was sent.');
  return { state: 'dispatched', failure };
}

const NO_RESPONSE =
  'Messages did not respond, and nothing was sent. Look for a question of macOS or of Messages on the screen of the Mac.';
