import type { StatusCode } from '@footbridge/protocol/codes';
import type { MessageStatusFrame } from '@footbridge/protocol/frames';

import { openAgentJournal } from '@footbridge/agent/open/journal';
import type { RunningAgent, RunOptions } from './running-agent.ts';

export type Engine = 'simulated' | 'macos' | 'bluebubbles';

/** The engines that reach people. Suites of sending run on each; what does not depend on sending is tested on one engine. */
export const SENDING_ENGINES = ['macos', 'bluebubbles'] as const;

/** What can go wrong in each engine, in the way of that engine. */
export type EngineFault =
  /** Nothing is sent. */
  | 'send_refused'
  /** Texts are sent, files are not. */
  | 'file_refused'
  /** Messages gets the message, and the store never shows how it ended. */
  | 'send_lost'
  /** The reaction is not made. */
  | 'press_refused'
  /** The reaction is made and does not appear. */
  | 'press_lost'
  /** macOS does not allow the agent to control the screen. */
  | 'screen_denied';

export interface EngineAgent extends RunningAgent {
  /** The file of the message store. */
  readonly storePath: string;
  /** Keeps the outcome of every send back until `release`. */
  readonly hold: () => Promise<void>;
  readonly release: () => Promise<void>;
  /** Every job that it concerns goes wrong until `heal`. */
  readonly fail: (fault: EngineFault) => Promise<void>;
  readonly heal: () => Promise<void>;
  /** Writes the files of attachments that are late, unless they come with the agent's clock. */
  readonly filesArrive: () => Promise<void>;
  /** Returns how many messages and reactions Messages was asked for. */
  readonly requested: () => Promise<number>;
  /** Returns the status of a request, without the long waits of the engine for a row that never comes. */
  readonly statusOfLost: (requestId: string) => Promise<MessageStatusFrame>;
  /** Moves the agent's clock. */
  readonly skip: (ms: number) => Promise<void>;
  /** Returns the number of pending jobs. */
  readonly queued: () => number;
  /** Whether the agent registered with this capability. */
  readonly can: (capability: string) => boolean;
}

export interface EngineOptions extends RunOptions {
  /** The version of macOS. Default: 26.1. */
  readonly macos?: string;
}

export interface EngineFixture {
  readonly engine: Engine;
  /** The code of a job that goes wrong. Undefined where the fault cannot concern this engine. */
  readonly codes: Readonly<Record<EngineFault, StatusCode | undefined>>;
  readonly run: (options?: EngineOptions) => Promise<EngineAgent>;
}

/** What is the same for all engines. */
export function seenFromOutside({ config, service }: RunningAgent): Pick<EngineAgent, 'queued' | 'can'> {
  return {
    queued: () => pendingJobs(config.dataDir),
    can: (capability) => service.registrations.at(-1)?.capabilities.includes(capability) === true,
  };
}

/** Returns the number of pending jobs of an agent, also while it runs. */
export function pendingJobs(dataDir: string): number {
  const journal = openAgentJournal(dataDir);
  try {
    return journal.jobs.pendingCount();
  } finally {
    journal.close();
  }
}
