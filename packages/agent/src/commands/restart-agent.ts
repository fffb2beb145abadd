import type { Clock } from '@footbridge/runtime/clock';

import { isLocked } from '../edges/data-dir.ts';
import { callAgent } from '../edges/local-socket/local-client.ts';
import type { AgentReport } from '../edges/local-socket/local-calls.ts';
import { reasonToStayAway } from '../edges/stay-away.ts';

const POLL_MS = 250;
const START_MS = 60_000;
const STOP_MS = 20_000;

/** Resolves with the report of the running agent, or with undefined when no agent responds. */
export async function reportOf(dataDir: string): Promise<AgentReport | undefined> {
  return await callAgent(dataDir, { call: 'report' }).catch(() => undefined);
}

export type Start =
  | { readonly started: true }
  /** `because` is absent when the agent did not respond in time. */
  | { readonly started: false; readonly because?: string };

/** Resolves when the agent runs, has saved why it does not, or did not respond in time. */
export async function agentStarted(dataDir: string, clock: Clock): Promise<Start> {
  const check = async (): Promise<Start | undefined> => {
    if ((await reportOf(dataDir)) !== undefined) return { started: true };
    const because = reasonToStayAway(dataDir);
    return because === undefined ? undefined : { started: false, because };
  };
  return (await poll(clock, START_MS, check)) ?? { started: false };
}

/** Stops the running agent. Resolves with false when it does not stop in time. */
export async function stopAgent(dataDir: string, clock: Clock): Promise<boolean> {
  await callAgent(dataDir, { call: 'stop' }).catch(() => undefined);
  const stopped = async () => (isLocked(dataDir) ? undefined : true);
  return (await poll(clock, STOP_MS, stopped)) ?? false;
}

async function poll<T>(
  clock: Clock,
  withinMs: number,
  check: () => Promise<T | undefined>,
): Promise<T | undefined> {
  for (let waited = 0; ; waited += POLL_MS) {
    const result = await check();
    if (result !== undefined || waited >= withinMs) return result;
    await clock.sleep(POLL_MS);
  }
}
