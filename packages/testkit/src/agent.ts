import { Program, started } from './program.ts';
import type { LogLine } from './program.ts';

export interface AgentOptions {
  /** The URL of the service's public listener. */
  url: string;
  license: string;
  location: string;
  /** Default: a temporary directory, which `stop` removes. */
  dataDir?: string;
  deviceId?: string;
  macos?: string;
  args?: readonly string[];
  env?: Record<string, string>;
}

export interface File {
  name: string;
  mime: string;
  base64: string;
}

export interface MessageContent {
  text?: string;
  chatId?: number;
  service?: string;
  effect?: string;
  replyTo?: string;
  attachments?: File[];
  voice?: File & { durationMs: number };
}

export interface ReactionContent {
  targetGuid: string;
  kind: string;
  action: 'add' | 'remove';
  type?: string;
  emoji?: string;
  sticker?: File;
  locale?: string;
}

export interface SimulatedMessage {
  guid: string;
  from: string;
  text: string;
  service: string;
  sentAt: number;
  state: string;
  effect?: string;
  replyTo?: string;
  attachments: { name: string; mime: string; size: number; sha256: string }[];
  reactions: { from: string; kind: string; type?: string; emoji?: string }[];
  [more: string]: unknown;
}

export interface SimulatorState {
  macos: string;
  permissions: Record<string, boolean>;
  queue: unknown;
  chats: {
    id: number;
    isGroup: boolean;
    recipients: string[];
    service: string;
    messages: SimulatedMessage[];
  }[];
}

/** Starts the agent with simulated Messages in a child process. Its control port plays the people it talks to. */
export async function startAgent(options: AgentOptions): Promise<Agent> {
  const agent = new Agent(options);
  return started(agent, () => agent.start());
}

export class Agent extends Program {
  controlUrl = '';
  readonly #options: AgentOptions;

  constructor(options: AgentOptions) {
    super('agent/src/main.ts', options.dataDir);
    this.#options = options;
  }

  /** After `halt` or `kill9`. `changes` are settings besides those of the options. */
  async start(changes: Record<string, string> = {}): Promise<void> {
    const { url, license, location, deviceId, macos, args = [], env = {} } = this.#options;
    const flags = [
      'run',
      '--url',
      url,
      '--license',
      license,
      '--location',
      location,
      '--data-dir',
      this.dataDir,
    ];
    if (deviceId !== undefined) flags.push('--device-id', deviceId);
    flags.push('--simulate', '--control-port', '0');
    if (macos !== undefined) flags.push('--macos', macos);
    this.launch([...flags, ...args], { ...env, ...changes });
    this.controlUrl = String((await this.logged('simulator ready'))['controlUrl']);
  }

  async restart(): Promise<void> {
    await this.halt();
    await this.start();
  }

  /** Resolves when the agent is registered for its location. */
  registered(): Promise<LogLine> {
    return this.logged('registered');
  }

  /** Returns the chats, permissions and queue of the simulator. */
  simulatorState(): Promise<SimulatorState> {
    return this.#request('GET', '/world');
  }

  /** Changes the simulator: `{ macos?, permissions?, delayMs?, faults? }`. */
  change(settings: object): Promise<unknown> {
    return this.#request('POST', '/world', settings);
  }

  say(handle: string, content: MessageContent): Promise<{ guid: string; chatId: number }> {
    return this.#request('POST', `/people/${encodeURIComponent(handle)}/say`, content);
  }

  react(handle: string, content: ReactionContent): Promise<{ guid: string }> {
    return this.#request('POST', `/people/${encodeURIComponent(handle)}/react`, content);
  }

  sticker(handle: string, content: File & { chatId?: number }): Promise<{ guid: string }> {
    return this.#request('POST', `/people/${encodeURIComponent(handle)}/sticker`, content);
  }

  group(recipients: readonly string[]): Promise<{ chatId: number }> {
    return this.#request('POST', '/groups', { recipients });
  }

  async #request<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await fetch(new URL(path, this.controlUrl), {
      method,
      headers: { 'Content-Type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} failed with ${response.status}: ${text}`);
    return JSON.parse(text || 'null');
  }
}
