import { createLog } from '@footbridge/runtime/log';
import { tempDir } from '@footbridge/testkit/cleanup';
import type { Cleanup } from '@footbridge/testkit/cleanup';

import { startAgent } from '@footbridge/agent/agent';
import type { Agent, AgentDeps } from '@footbridge/agent/agent';
import { readConfig } from '@footbridge/agent/config/config';
import type { AgentConfig } from '@footbridge/agent/config/config';
import type { Mac } from '@footbridge/agent/open/messages';
import type { MessageView, SimulationView } from '@footbridge/simulator/simulation';
import { ScriptedService } from './scripted-service.ts';

export type World = SimulationView & { readonly queue: number };

/** The whole agent in this process, connected to a scripted service. */
export interface RunningAgent {
  readonly service: ScriptedService;
  readonly agent: Agent;
  readonly config: AgentConfig;
  readonly logs: string[];
  /** Calls the control port. */
  readonly play: <T = { guid: string; chatId: number }>(path: string, body: object) => Promise<T>;
  readonly world: () => Promise<World>;
  /** Returns all messages, chat by chat. */
  readonly messages: () => Promise<MessageView[]>;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly deps?: Partial<AgentDeps>;
  readonly dataDir?: string;
  readonly service?: ScriptedService;
  /** Runs the agent on this Mac instead of the simulation. There is no control port then. */
  readonly mac?: Mac;
  /** False when the test does not wait for the registration. */
  readonly wait?: boolean;
}

export async function runAgent(cleanup: Cleanup, options: RunOptions = {}): Promise<RunningAgent> {
  const service = options.service ?? (await new ScriptedService().start());
  if (options.service === undefined) cleanup.add(() => service.stop());
  const dataDir = options.dataDir ?? (await tempDir(cleanup));
  const read = readConfig(
    {
      url: service.url,
      location: 'location1',
      license: 'LICENSE-KEY',
      dataDir,
      simulate: options.mac === undefined,
      controlPort: '0',
    },
    {
      FOOTBRIDGE_ALLOW_LOOPBACK: 'true',
      FOOTBRIDGE_CONFIRM_SEC: '0.15',
      FOOTBRIDGE_SEND_GAP_MS: '0',
      ...options.env,
    },
  );
  if (!read.ok) throw new Error(read.problems.join('; '));
  const before = service.registrations.length;
  const logs: string[] = [];
  const log = createLog('debug', { destination: { write: (line) => void logs.push(line) } });
  const agent = await startAgent(read.value, {
    log,
    ...(options.mac !== undefined && { mac: options.mac }),
    ...options.deps,
    link: { backoffBaseMs: 5, protocolWaitMs: 50, ...options.deps?.link },
  });
  cleanup.add(() => agent.stop());
  const control = options.mac === undefined ? controlUrlOf(logs) : '';
  const call = async (path: string, init: RequestInit): Promise<unknown> => {
    const response = await fetch(control + path, init);
    const body: unknown = await response.json();
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${JSON.stringify(body)}`);
    return body;
  };
  const running: RunningAgent = {
    service,
    agent,
    config: read.value,
    logs,
    play: async <T>(path: string, body: object) =>
      (await call(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })) as T,
    world: async () => (await call('/world', {})) as World,
    messages: async () => (await running.world()).chats.flatMap((chat) => chat.messages),
  };
  if (options.wait !== false) await service.registered(before + 1);
  return running;
}

function controlUrlOf(logs: readonly string[]): string {
  for (const line of logs) {
    const url = /"controlUrl":"([^"]+)"/.exec(line)?.[1];
    if (url !== undefined) return url;
  }
  throw new Error('the agent did not log the URL of its control port');
}

/** A 1 × 1 PNG. */
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** Two people of the simulation. */
export const ANNA = '+15550100001';
export const BERT = '+15550100002';

export function person(handle: string, verb?: string): string {
  return `/people/${encodeURIComponent(handle)}${verb === undefined ? '' : `/${verb}`}`;
}

/** Returns a message with a footer of any content, valid or not. */
export function withFooter(text: string, metadata: object): string {
  return `${text}\n-- svc-metadata:v1 --\n${JSON.stringify(metadata)}\n-- end svc-metadata --`;
}
