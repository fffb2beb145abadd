import { readFileSync } from 'node:fs';

import { createClient } from '@redis/client';

import { EngineError, StartError } from '../errors.ts';
import type { Logger } from '../log.ts';

type Client = ReturnType<typeof createClient>;

/** One atomic step, written in Lua, kept in a file of its own. */
export interface Script {
  readonly text: string;
}

export const loadScript = (file: URL): Script => ({ text: readFileSync(file, 'utf8') });

export interface Redis {
  /** Runs a script. Rejects with EngineError when Redis is away or does not answer within `timeoutMs`. */
  run(script: Script, keys: string[], args: (string | number)[], timeoutMs?: number): Promise<unknown>;
  /** Answers how many listened; a listener that is stuck counts too, so it proves nothing. */
  publish(channel: string, message: Buffer): Promise<number>;
  subscribe(channel: string, listener: (message: Buffer) => void): Promise<void>;
  ping(): Promise<void>;
  close(): Promise<void>;
}

const TIMEOUT_MS = 1000;

/** Two connections: one for commands, one that listens. Both come back by themselves; commands fail at once while Redis is away. */
export async function openRedis(url: string, log: Logger): Promise<Redis> {
  const commands = connection(url, log, 'commands');
  const listening = connection(url, log, 'listening');
  try {
    await Promise.all([commands.connect(), listening.connect()]);
  } catch (error) {
    commands.destroy();
    listening.destroy();
    throw new StartError(
      ['REDIS_URL cannot be reached; is Redis running and is the address right?'],
      1,
      error,
    );
  }
  const known = new Map<string, string>();

  async function run({ text }: Script, keys: string[], args: (string | number)[]): Promise<unknown> {
    const call = { keys, arguments: args.map(String) };
    const sha = known.get(text);
    if (sha !== undefined) {
      try {
        return await commands.evalSha(sha, call);
      } catch (error) {
        // A restarted Redis has forgotten its scripts.
        if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      }
    }
    known.set(text, await commands.scriptLoad(text));
    return commands.eval(text, call);
  }

  return {
    run: (script, keys, args, timeoutMs = TIMEOUT_MS) => inTime(run(script, keys, args), timeoutMs),
    publish: (channel, message) => inTime(commands.publish(channel, message), TIMEOUT_MS),
    subscribe: (channel, listener) => listening.subscribe(channel, listener, true),
    ping: async () => void (await inTime(commands.ping(), TIMEOUT_MS)),
    async close() {
      commands.destroy();
      listening.destroy();
    },
  };
}

function connection(url: string, log: Logger, name: string): Client {
  const client = createClient({
    url,
    RESP: 2,
    disableOfflineQueue: true,
    pingInterval: 5000,
    socket: {
      connectTimeout: 3000,
      keepAlive: true,
      reconnectStrategy: (tries) => Math.min(1000, 50 * 2 ** tries) * (0.5 + Math.random() / 2),
    },
  });
  let away = false;
  client.on('error', (error: Error) => {
    if (!away) log.warn({ connection: name, err: error }, 'Redis is away');
    away = true;
  });
  client.on('ready', () => {
    if (away) log.info({ connection: name }, 'Redis is back');
    away = false;
  });
  return client as Client;
}

async function inTime<T>(answer: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new EngineError('redis', `Redis did not answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([answer, late]);
  } catch (error) {
    throw error instanceof EngineError ? error : new EngineError('redis', 'Redis could not do it', error);
  } finally {
    clearTimeout(timer);
  }
}
