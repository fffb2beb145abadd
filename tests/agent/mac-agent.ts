import { fileURLToPath } from 'node:url';

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { SimulatedMacos } from '@footbridge/testkit/macos';
import { Program } from '@footbridge/testkit/program';

import type { AgentDeps } from '@footbridge/agent/agent';

export interface MacAgentOptions {
  readonly macos: SimulatedMacos;
  readonly url: string;
  readonly env: Readonly<Record<string, string>>;
  readonly limits?: NonNullable<AgentDeps['bluebubbles']>;
  /** How much faster its clock runs. Default: 1. */
  readonly speed?: number;
  /** Default: a temporary directory, which `stop` removes. */
  readonly dataDir?: string;
}

/** The file in the data folder with the arguments of every child process of the agent, one list a line. */
export const CHILD_PROCESSES = 'child-processes.jsonl';

/** The agent in a process of its own, on a simulated Mac. It can be killed and started again. */
export class MacAgent extends Program {
  readonly #options: MacAgentOptions;

  constructor(options: MacAgentOptions) {
    super(fileURLToPath(new URL('mac-agent-main.ts', import.meta.url)), options.dataDir);
    this.#options = options;
  }

  /** Resolves when the agent is registered. After `halt` or `kill9`. */
  async start(): Promise<void> {
    const { macos, url, env, limits = {}, speed = 1 } = this.#options;
    const mac = JSON.stringify({ home: macos.home, programs: macos.commands });
    this.launch(['--mac', mac, '--limits', JSON.stringify(limits), '--speed', String(speed)], {
      FOOTBRIDGE_URL: url,
      FOOTBRIDGE_LOCATION: 'location1',
      FOOTBRIDGE_LICENSE: 'LICENSE-KEY',
      FOOTBRIDGE_AGENT_DIR: this.dataDir,
      FOOTBRIDGE_ALLOW_LOOPBACK: 'true',
      FOOTBRIDGE_SEND_GAP_MS: '0',
      ...env,
    });
    await this.logged('registered');
  }

  /** The arguments of every child process that the agent started, one list a line. */
  childProcesses(): string {
    return readFileSync(join(this.dataDir, CHILD_PROCESSES), 'utf8');
  }

  /** Moves its wall clock an hour ahead. A suspended process notices it when it is resumed. */
  moveClock(): void {
    process.kill(this.pid, 'SIGUSR2');
  }
}
