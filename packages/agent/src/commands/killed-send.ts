import { existsSync } from 'node:fs';

import { createSystemClock } from '@footbridge/runtime/clock';

import { callAgent } from '../edges/local-socket/local-client.ts';
import type { SelftestStep } from '../flows/selftest/selftest.ts';
import type { thisInstallation } from '../install/installation.ts';
import { AgentCallError } from '../errors.ts';
import { agentStarted } from './restart-agent.ts';

type Result = Omit<SelftestStep, 'name' | 'tookMs'>;

interface KilledSend {
  readonly to: string | undefined;
  /** Whether the owner passed `--kill`. */
  readonly kill: boolean;
  readonly dataDir: string;
}

/** Kills the agent after it dispatched a text and before the row appears. The agent that macOS starts next must find that the text was sent. */
export async function killedSend(
  options: KilledSend,
  installation: ReturnType<typeof thisInstallation>,
): Promise<SelftestStep> {
  const started = performance.now();
  const layout = installation?.layout;
  const isInstalled = layout?.support === options.dataDir && existsSync(layout.current);
  const result = await tryKilledSend(options, isInstalled);
  return { name: 'killed send', ...result, tookMs: Math.round(performance.now() - started) };
}

async function tryKilledSend({ to, kill, dataDir }: KilledSend, isInstalled: boolean): Promise<Result> {
  if (to === undefined) return skipped('no recipient; pass --to with your own number');
  if (!kill) return skipped('pass --kill');
  if (!isInstalled) return skipped('the agent is not installed, so macOS would not start it again');
  try {
    return await callAgent(dataDir, { call: 'interruptSend', to });
  } catch (error) {
    if (!(error instanceof AgentCallError)) throw error;
  }
  const start = await agentStarted(dataDir, createSystemClock({ keepAlive: true }));
  if (!start.started)
    return { verdict: 'failed', reason: start.because ?? 'macOS did not start the agent again' };
  return await callAgent(dataDir, { call: 'resolveInterruptedSend' });
}

const skipped = (reason: string): Result => ({ verdict: 'skipped', reason });
