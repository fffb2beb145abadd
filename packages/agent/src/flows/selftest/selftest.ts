import type { Clock } from '@footbridge/runtime/clock';

import type { Messages } from '../../ports/messages/messages.ts';
import { CHECKS } from './checks.ts';
import type { CheckContext, CheckResult, Findings, TestFiles } from './checks.ts';

export interface SelftestOptions {
  /** A number or address of the owner, who gets the test messages. Without it nothing is sent. */
  readonly to?: string;
  /** Members of a group that gets a test message, all of them the owner. */
  readonly group?: readonly string[];
  /** The owner locks the screen when asked. */
  readonly lock?: boolean;
}

export interface SelftestStep extends Omit<CheckResult, 'found'> {
  readonly name: string;
  readonly tookMs: number;
}

/** The results of a selftest, without any text, name, number or id, so that the owner can pass them on. */
export interface SelftestRecord extends Findings {
  readonly format: 1;
  readonly agent: string;
  /** False when Messages was simulated: such a record verifies nothing. */
  readonly onMac: boolean;
  readonly macos: { readonly version: string; readonly build?: string };
  readonly capabilities: readonly string[];
  readonly steps: readonly SelftestStep[];
}

export interface SelftestDeps {
  readonly messages: Messages;
  readonly files: TestFiles;
  readonly clock: Clock;
  readonly agent: string;
  readonly onMac: boolean;
  /** Absent where there is no screen. */
  readonly isScreenLocked: (() => Promise<boolean>) | undefined;
  readonly onStep: (step: SelftestStep) => void;
  /** Tells the owner what to do. */
  readonly onNote: (note: string) => void;
}

/** Tries every capability of this Mac, one after the other. The caller makes sure that no other send runs. */
export async function runSelftest(options: SelftestOptions, deps: SelftestDeps): Promise<SelftestRecord> {
  const { messages, files, clock, agent, onMac, isScreenLocked, onStep, onNote } = deps;
  const { to, group, lock = false } = options;
  const context: CheckContext = {
    messages,
    files,
    clock,
    to,
    group,
    lock,
    isScreenLocked,
    onNote,
    sent: undefined,
  };
  const steps: SelftestStep[] = [];
  const findings: Findings[] = [];
  for (const { name, run, capability } of CHECKS) {
    const started = clock.monotonic();
    const isOffered = capability === undefined || messages.capabilities().includes(capability);
    const { found = {}, ...result } = isOffered ? await run(context).catch(unexpected) : NOT_OFFERED;
    findings.push(found);
    const step = { name, ...result, tookMs: Math.round(clock.monotonic() - started) };
    steps.push(step);
    onStep(step);
  }
  const { macos, report } = messages.environment();
  const build = report?.build;
  return {
    format: 1,
    agent,
    onMac,
    macos: { version: macos, ...(build !== undefined && { build }) },
    capabilities: messages.capabilities(),
    steps,
    ...Object.assign({}, ...findings),
  };
}

const NOT_OFFERED: CheckResult = {
  verdict: 'skipped',
  reason: 'this version of macOS or of the agent does not offer it',
};

/** The message of an unexpected error may contain anything, so only its class is kept. */
function unexpected(error: unknown): CheckResult {
  const name = error instanceof Error ? error.name : 'not an error object';
  return { verdict: 'failed', code: 'INTERNAL_ERROR', reason: `unexpected error: ${name}` };
}
