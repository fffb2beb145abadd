import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { EngineError, StartError } from '../errors.ts';
import type { Logger } from '../log.ts';
import { isRedisGone } from './is-redis-gone.ts';
import { RedisLink, SILENT_MS } from './redis-link.ts';

/** One atomic step, written in Lua, kept in a file of its own. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

export function loadScript(file: URL): Script {
  const text = readFileSync(file, 'utf8');
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

export interface Redis {
  /**
   * Runs a script. Rejects with EngineError when Redis is away or does not answer within `timeoutMs`; what was asked may be done
   * later all the same, when the connection recovers, so a script that would do harm then needs a deadline of its own.
   */
  run(script: Script, keys: readonly string[], args: readonly string[], timeoutMs?: number): Promise<unknown>;
  /** Answers how many listened. A listener that is stuck counts too, so more than 0 proves nothing; 0 proves that nobody heard it. */
  publish(channel: string, message: Buffer): Promise<number>;
  subscribe(channel: string, listener: (message: Buffer) => void): Promise<void>;
  /** Called when a lost connection is back: what was published meanwhile is lost, and Redis may have forgotten everything. */
  onBack(listener: () => void): void;
  ping(): Promise<void>;
  /**
   * Whether it went while both connections to it were in good health, and nobody serves at its address at this very moment: then
   * this node knows all that was said until the end, and no other node can use it either. Silence is no proof.
   */
  isGone(): Promise<boolean>;
  close(): Promise<void>;
}

const TIMEOUT_MS = 1000;

/** Two connections: one for commands, one that listens. Both come back by themselves; commands fail at once while Redis is away. */
export async function openRedis(url: string, log: Logger, silentMs = SILENT_MS): Promise<Redis> {
  const listeners: (() => void)[] = [];
  const isBack = () => {
    for (const listener of listeners) listener();
  };
  const commands = new RedisLink('commands', url, log, silentMs, isBack);
  const listening = new RedisLink('listening', url, log, silentMs, isBack);
  const close = () => {
    commands.close();
    listening.close();
  };
  try {
    await Promise.all([commands.open(), listening.open()]);
  } catch (error) {
    close();
    throw new StartError(
      ['REDIS_URL cannot be reached; is Redis running and is the address right?'],
      1,
      error,
    );
  }

  async function run({ sha, text }: Script, keys: readonly string[], args: readonly string[]) {
    const rest = [String(keys.length), ...keys, ...args];
    try {
      return await commands.send(['EVALSHA', sha, ...rest]);
    } catch (error) {
      // A restarted Redis has forgotten its scripts.
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return commands.send(['EVAL', text, ...rest]);
    }
  }

  return {
    run: (script, keys, args, timeoutMs = TIMEOUT_MS) => inTime(run(script, keys, args), timeoutMs),
    publish: (channel, message) => inTime(commands.send<number>(['PUBLISH', channel, message]), TIMEOUT_MS),
    subscribe: (channel, listener) => listening.subscribe(channel, listener),
    onBack: (listener) => void listeners.push(listener),
    ping: async () => void (await inTime(commands.send(['PING']), TIMEOUT_MS)),
    isGone: async () => commands.endedWell && listening.endedWell && (await isRedisGone(url)),
    async close() {
      close();
    },
  };
}

function inTime<T>(answer: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    // After a stall of our own timers run before sockets are read: an answer that is there already still counts.
    const timer = setTimeout(() => setImmediate(() => reject(late(ms))), ms);
    answer.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(new EngineError('redis', 'Redis could not do it', error));
      },
    );
  });
}

const late = (ms: number) => new EngineError('redis', `Redis did not answer within ${ms} ms`);
