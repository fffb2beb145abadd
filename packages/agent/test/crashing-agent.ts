import { Agent } from '@footbridge/testkit/agent';
import type { Undo } from '@footbridge/testkit/undo';
import { expect } from 'vitest';

import { ScriptedService } from './scripted-service.ts';

export interface CrashingAgent {
  readonly service: ScriptedService;
  readonly agent: Agent;
  /** It died as it was told to. */
  readonly died: () => Promise<void>;
  /** The next life, with the same folder. */
  readonly again: () => Promise<Agent>;
}

/** The agent as a process of its own, which dies at the failpoint and is then started again without one. */
export async function crashingAgent(undo: Undo, failpoints: string): Promise<CrashingAgent> {
  const service = await new ScriptedService().start();
  undo.add(() => service.stop());
  const options = { url: service.url, license: 'KEY-1', location: 'location1' };
  const env = { FOOTBRIDGE_ALLOW_LOOPBACK: 'true' };
  const agent = new Agent({ ...options, env: { ...env, FAILPOINTS: failpoints } });
  undo.add(() => agent.stop());
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
      undo.add(() => revived.stop());
      const before = service.registrations.length;
      await revived.start();
      await service.registered(before + 1);
      return revived;
    },
  };
}

/** What a message may have become whose send was cut off. */
export const UNKNOWN = {
  status: 'failed',
  error: { code: 'INTERNAL_ERROR', message: expect.stringContaining('outcome unknown') },
};

export async function textsOf(agent: Agent): Promise<string[]> {
  return (await agent.world()).chats.flatMap((chat) => chat.messages.map((message) => message.text));
}
