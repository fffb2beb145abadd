import { Agent } from '@footbridge/testkit/agent';
import type { MessageContent } from '@footbridge/testkit/agent';
import type { Cleanup } from '@footbridge/testkit/cleanup';
import type { Program } from '@footbridge/testkit/program';
import { expect } from 'vitest';

import { pendingJobs } from './engine-agent.ts';
import type { Engine } from './engine-agent.ts';
import { MacAgent } from './mac-agent.ts';
import { sharedMac } from './mac.fixture.ts';
import type { MacFixture } from './mac.fixture.ts';
import { person } from './running-agent.ts';
import { ScriptedService } from './scripted-service.ts';

interface SentMessage {
  readonly from: string;
  readonly text: string;
  readonly attachments: readonly object[];
}

/** The agent as a process. */
export interface AgentProcess {
  readonly program: Program;
  readonly say: (handle: string, content: MessageContent) => Promise<{ guid: string }>;
  /** Returns the messages that people got. */
  readonly sent: () => Promise<SentMessage[]>;
  /** Makes each send take longer. */
  readonly delay: (ms: number) => Promise<void>;
  /** Returns the number of pending jobs. */
  readonly queued: () => number;
}

export interface CrashingAgent {
  readonly service: ScriptedService;
  readonly agent: AgentProcess;
  /** Resolves when the agent was killed at its failpoint. */
  readonly died: () => Promise<void>;
  /** Starts the agent again with the same data folder, without a failpoint, and with these additional settings. */
  readonly again: (changes?: Readonly<Record<string, string>>) => Promise<AgentProcess>;
}

/** Starts a process, with the data folder of an earlier one if there was one. */
type Start = (url: string, env: Record<string, string>, dataDir?: string) => Promise<AgentProcess>;

/** Returns a function that starts the agent, on this engine, as a process that is killed at the failpoint. */
export function useCrashes(
  engine: Engine,
  cleanup: Cleanup,
  env: Readonly<Record<string, string>> = {},
): (failpoints?: string) => Promise<CrashingAgent> {
  const start = engine === 'simulated' ? simulated(cleanup) : onMac(cleanup, sharedMac(engine));
  return async (failpoints = 'nowhere:kill') => {
    const service = await new ScriptedService().start();
    cleanup.add(() => service.stop());
    const agent = await start(service.url, { ...env, FAILPOINTS: failpoints });
    await service.registered();
    return {
      service,
      agent,
      died: async () => {
        expect((await agent.program.exited).signal).toBe('SIGKILL');
      },
      again: async (changes = {}) => {
        const before = service.registrations.length;
        const revived = await start(service.url, { ...env, ...changes }, agent.program.dataDir);
        await service.registered(before + 1);
        return revived;
      },
    };
  };
}

function simulated(cleanup: Cleanup): Start {
  return async (url, env, dataDir) => {
    const program = new Agent({
      url,
      license: 'KEY-1',
      location: 'location1',
      env: { FOOTBRIDGE_ALLOW_LOOPBACK: 'true', ...env },
      ...(dataDir !== undefined && { dataDir }),
    });
    cleanup.add(() => program.stop());
    await program.start();
    return {
      program,
      say: (handle, content) => program.say(handle, content),
      sent: async () => own((await program.simulatorState()).chats),
      delay: async (delayMs) => void (await program.change({ delayMs })),
      queued: () => pendingJobs(program.dataDir),
    };
  };
}

function onMac(cleanup: Cleanup, shared: () => MacFixture): Start {
  return async (url, env, dataDir) => {
    const mac = shared();
    const { macos, server, people, settings } = mac;
    const program = new MacAgent({
      url,
      macos,
      env: { ...settings, ...env },
      // Nothing comes after it in the simulation.
      limits: { recoveryMs: 1_000 },
      ...(dataDir !== undefined && { dataDir }),
    });
    cleanup.add(() => program.stop());
    mac.savePassword(program.dataDir);
    await program.start();
    return {
      program,
      say: async (handle, content) => (await people.play(person(handle, 'say'), content)) as { guid: string },
      sent: async () => own((await people.view()).chats),
      delay: async (ms) => {
        await macos.messages.configure({ sends: { delays: { sent: ms } } });
        await server?.control.configure({ sentMs: ms });
      },
      queued: () => pendingJobs(program.dataDir),
    };
  };
}

function own(chats: readonly { readonly messages: readonly SentMessage[] }[]): SentMessage[] {
  return chats.flatMap((chat) => chat.messages.filter(({ from }) => from === 'me'));
}

/** The status of a message whose send was interrupted. */
export const UNKNOWN = {
  status: 'failed',
  error: { code: 'INTERNAL_ERROR', message: expect.stringContaining('outcome unknown') },
};

/** The status of a message whose send was interrupted before it began. */
export const NOT_SENT = {
  status: 'failed',
  error: { code: 'INTERNAL_ERROR', message: expect.stringContaining('Nothing was sent') },
};

export async function textsOf(agent: AgentProcess): Promise<string[]> {
  return (await agent.sent()).map(({ text }) => text);
}
