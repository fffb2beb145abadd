import { existsSync, readFileSync } from 'node:fs';

import { remote } from './control.ts';
import type { Remote } from './control.ts';
import type { MacosVersion } from '@footbridge/simulator/chat-db';
import { osascriptErrors } from './macos/commands.ts';
import type { Commands } from './macos/commands.ts';
import type { MessagesOperations } from './macos/operations.ts';
import { Program, started } from './program.ts';

export interface SimulatedMacosOptions {
  /** The home directory of the Mac's owner. Default: a temporary one, which `stop` removes. */
  home?: string;
  macos?: MacosVersion;
}

/**
 * Starts a process that writes `~/Library/Messages/chat.db` with the schema of a macOS version, in the order and with the delays
 * of Messages. Nothing in it knows the agent.
 */
export async function startSimulatedMacos(options: SimulatedMacosOptions = {}): Promise<SimulatedMacos> {
  const macos = new SimulatedMacos(options);
  return started(macos, () => macos.start());
}

export class SimulatedMacos extends Program {
  /** The path of `chat.db`. */
  storePath = '';
  controlUrl = '';
  #commands: Commands | undefined;
  #messages: Remote<MessagesOperations> | undefined;
  readonly #macos: MacosVersion;

  constructor({ home, macos = 26 }: SimulatedMacosOptions) {
    super('testkit/src/macos-main.ts', home);
    this.#macos = macos;
  }

  get home(): string {
    return this.dataDir;
  }

  get messages(): Remote<MessagesOperations> {
    if (this.#messages === undefined) throw new Error('Messages was not started.');
    return this.#messages;
  }

  /** The paths of `osascript` and other system programs. */
  get commands(): Commands {
    if (this.#commands === undefined) throw new Error('Messages was not started.');
    return this.#commands;
  }

  /** The standard error of `osascript`: a simulated one writes to it only when it crashes. */
  get osascriptErrors(): string {
    const file = osascriptErrors(this.home);
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  }

  /** After `halt` or `kill9`. */
  async start(): Promise<void> {
    this.launch(['--home', this.home, '--macos', String(this.#macos)], {});
    const ready = await this.logged('messages ready');
    this.storePath = String(ready['path']);
    this.#commands = ready['commands'] as Commands;
    this.controlUrl = String(ready['controlUrl']);
    this.#messages = remote<MessagesOperations>(this.controlUrl);
  }
}
