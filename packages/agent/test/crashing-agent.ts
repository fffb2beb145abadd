import { Agent } from '@footbridge/testkit/agent';
import type { Cleanup } from '@footbridge/testkit/cleanup';
import { expect } from 'vitest';

import { ScriptedService } from './scripted-service.ts';

export interface CrashingAgent {
  readonly service: ScriptedService;
  readonly agent: Agent;
  /** Resolves when the agent was killed at its failpoint. */
  readonly died: () => Promise<void>;
  /** Starts the agent again with the same data folder and without a failpoint. */
  readonly again: () => Promise<Agent>;
}

/** Starts the agent as a process that is killed at the failpoint. */
export async function crashingAgent(cleanup: Cleanup, failpoints: string): Promise<CrashingAgent> {
  const service = await new ScriptedService().start();
  cleanup.add(() => service.stop());
  const options = { url: service.url, license: 'KEY-1', location: 'location1' };
  const env = { FOOTBRIDGE_ALLOW_LOOPBACK: 'true' };
  const agent = new Agent({ ...options, env: { ...env, FAILPOINTS: failpoints } });
  cleanup.add(() => agent.stop());
  await agent.start();
  await service.registered();
  return {
    service,
    agent,
    died: async () => {
      expect((await agent.exited).signal).toBe('SIGKILL');
    },
    again: async () => {
      const revived = new Agent({ ...options, env, dataDir: agent.dataDir });
      cleanup.add(() => revived.stop());
      const before = service.registrations.length;
      await revived.start();
      await service.registered(before + 1);
      return revived;
    },
  };
}

/** The status of a message whose send was interrupted. */
export const UNKNOWN = {
  status: 'failed',
  error: { code: 'INTERNAL_ERROR', message: expect.stringContaining('outcome unknown') },
};

export async function textsOf(agent: Agent): Promise<string[]> {
  return (await agent.simulatorState()).chats.flatMap((chat) => chat.messages.map((message) => message.text));
}
