import type { Clock } from '@footbridge/runtime/clock';

import type { Failed } from '../../../../outcome.ts';
import type { JxaProgram, ProgramRunner } from '../osascript.ts';
import type { RefusalReason, ScreenLimits, ScreenLine } from '../programs/screen-lines.ts';
import { generalFailure, refusedFailure } from './screen-errors.ts';
import type { ScreenAction } from './screen-errors.ts';

export interface ScreenDeps {
  readonly osascript: ProgramRunner;
  readonly clock: Clock;
  /** Starts Messages. Resolves when the command has ended. */
  readonly startMessages: () => Promise<void>;
}

export type ScreenResult =
  /** The press was made or may have been made. `failure` is the outcome unless a row appears: most likely it was not made. */
  | { readonly state: 'dispatched'; readonly failure?: Failed }
  | (Failed & { readonly reason?: RefusalReason });

export const SCREEN_LIMITS: ScreenLimits = { idleSec: 3, idleWaitSec: 20, showSec: 5 };

const PROGRAM_TIMEOUT_MS = 90_000;
const START_WAIT_MS = 20_000;
/**
 * Accessibility errors of an element that does not exist or does not have the action. Some applications return them although they performed
 * the action.
 */
const NOT_PERFORMED: ReadonlySet<number> = new Set([-25200, -25201, -25202, -25205, -25206, -25211]);

/** Runs an Accessibility program once, and again only while Messages is not running. */
export async function runOnScreen(
  program: JxaProgram,
  input: object,
  action: ScreenAction,
  deps: ScreenDeps,
): Promise<ScreenResult> {
  const run = (): Promise<ScreenResult> =>
    runProgram(program, { ...input, limits: SCREEN_LIMITS }, action, deps);
  let result = await run();
  if (!isNotRunning(result)) return result;
  await deps.startMessages();
  const deadline = deps.clock.monotonic() + START_WAIT_MS;
  for (result = await run(); isNotRunning(result) && deps.clock.monotonic() < deadline; result = await run())
    await deps.clock.sleep(1_000);
  return result;
}

const isNotRunning = (result: ScreenResult): boolean =>
  result.state === 'failed' && result.reason === 'not_running';

async function runProgram(
  program: JxaProgram,
  input: object,
  action: ScreenAction,
  { osascript }: ScreenDeps,
): Promise<ScreenResult> {
  const { lines, end } = await osascript.run(program, input, PROGRAM_TIMEOUT_MS);
  if (end === 'not_started') return generalFailure('osascript cannot be started.', action);
  const steps = lines as readonly ScreenLine[];
  const last = steps.findLast(({ step }) => step === 'refused' || step === 'error');
  const isDispatched = end === 'overflowed' || steps.some(({ step }) => step === 'dispatching');
  if (isDispatched) {
    const isUnlikely = last?.step === 'error' && NOT_PERFORMED.has(last.number);
    return {
      state: 'dispatched',
      ...(isUnlikely && { failure: accessibilityFailure(last.number, action) }),
    };
  }
  if (last?.step === 'refused') return { ...refusedFailure(last.reason, action), reason: last.reason };
  if (last?.step === 'error') return accessibilityFailure(last.number, action);
  if (end === 'stopped') return generalFailure('Messages could not be reached in time.', action);
  // The program always reports what it did, so another program ran.
  return { state: 'dispatched', failure: generalFailure('osascript did not run as expected.', action) };
}

function accessibilityFailure(number: number, action: ScreenAction): Failed {
  if (number === -25211) return refusedFailure('not_trusted', action);
  return generalFailure(`Accessibility error ${number}: Messages did not respond as expected.`, action);
}
