import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { afterReading } from '@footbridge/runtime/after-reading';
import type { Log } from '@footbridge/runtime/log';

import { EngineError, StartError } from '../errors.ts';
import { primaryFinder } from './find-primary.ts';
import { isRedisDown } from './is-redis-down.ts';
import { parseSentinels } from './redis-address.ts';
import { RedisConnection, SILENT_MS } from './redis-connection.ts';

/** A Lua script: one atomic operation. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

/** Scripts with flags run on no replica, also when they only read, and these run on a full server. What they write is small and expires. */
const FLAGS = '#!lua flags=allow-oom\n';

export function loadScript(file: URL): Script {
  const text = FLAGS + readFileSync(file, 'utf8');
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

/** Keys and channels are given without the prefix of the installation. */
export interface Redis {
  /**
   * Runs a script. Rejects with EngineError when Redis is unavailable or does not respond within `timeoutMs`. The script may still
   * run later, when the connection recovers: a script that must not run late needs its own deadline.
   */
  run(script: Script, keys: readonly string[], args: readonly string[], timeoutMs?: number): Promise<unknown>;
  /**
   * Resolves with the number of subscribers. 0 proves that no subscriber received the message; more proves nothing, since a
   * stalled subscriber counts too.
   */
  publish(channel: string, message: Buffer): Promise<number>;
  subscribe(channel: string, listener: (message: Buffer) => void): Promise<void>;
  /** Calls the listener when a lost connection is back. Messages published in between are lost, and Redis may have lost its data. */
  onReconnect(listener: () => void): void;
  /** Rejects when Redis does not accept a write. */
  ping(): Promise<void>;
  /**
   * Resolves with true only when both connections were healthy until they ended and the address refuses connections now. Then this
   * node has received everything that Redis sent, and no other node can use Redis either. A timeout is not enough.
   */
  isDown(): Promise<boolean>;
  /** Resolves with whether a node with this id has used this Redis, with this prefix, within the last 10 s. */
  hasNode(node: string): Promise<boolean>;
  /** Returns the same connections with another prefix. */
  withPrefix(prefix: string): Redis;
  close(): Promise<void>;
}

export interface RedisOptions {
  readonly url: string;
  /** Begins every key and channel; see `keyPrefix`. */
  readonly prefix: string;
  /** The id of this node. */
  readonly node?: string;
  readonly log: Log;
  readonly silentMs?: number | undefined;
}

const TIMEOUT_MS = 1000;
/** A server that stays unusable is left this often. */
const LEAVE_MS = 1000;
const COMPARE_MS = 1000;
const FOLLOW_MS = 1000;
/** Two connections: one for commands, one for subscriptions. Both reconnect by themselves; commands fail at once while Redis is unavailable. */
export async function openRedis(options: RedisOptions): Promise<Redis> {
  const { url, prefix, node = randomUUID(), log, silentMs = SILENT_MS } = options;
  // They may choose another primary, which the other nodes then use.
  const hasSentinels = parseSentinels(url) !== undefined;
  const own = `${prefix}own:${randomUUID()}`;
  const aliveKey = (one: string) => `${prefix}alive:${one}`;
  // A write: Redis responds to PING also when it is full, or a replica.
  const alive = ['SET', aliveKey(node), '', 'PX', '10000'];
  const listeners: (() => void)[] = [];
  const onReconnect = () => {
    for (const listener of listeners) listener();
  };
  let leftAt = -Infinity;
  const onUnusable = (reply: Error) => {
    if (commands.isLost || performance.now() - leftAt < LEAVE_MS) return;
    leftAt = performance.now();
    log.warn({ event: 'redis.server_unusable', err: reply }, 'redis accepts no writes, connection replaced');
    commands.leave();
    subscriptions.leave();
  };
  const primary = primaryFinder(url);
  const deps = { primary, check: alive, log, silentMs, onUnusable };
  const onCommands = () => {
    void compareServers();
    onReconnect();
  };
  const commands = new RedisConnection({ ...deps, name: 'commands', ping: alive, onReconnect: onCommands });
  const subscriptions = new RedisConnection({ ...deps, name: 'subscriptions', ping: ['PING'], onReconnect });
  /** Never rejects. During a failover the connections may be to different servers: what is published does not arrive then. */
  const compareServers = async () => {
    const receivers = await commands.send<number>(['PUBLISH', own, '']).catch(() => undefined);
    if (receivers !== 0 || subscriptions.isLost) return;
    log.warn({ event: 'redis.servers_differ' }, 'redis connections to different servers, one is replaced');
    subscriptions.leave();
  };
  /** Never rejects. For seconds after the sentinels have named another primary, the former one accepts writes, which are lost. */
  const followSentinels = async () => {
    const newest = await primary.find().catch(() => undefined);
    const moved = [commands, subscriptions].filter((one) => newest !== undefined && one.isBehind(newest));
    if (moved.length > 0)
      log.warn({ event: 'redis.primary_moved' }, 'the sentinels name another primary, connections replaced');
    for (const one of moved) one.leave();
  };
  const timers: NodeJS.Timeout[] = [];
  const close = () => {
    for (const timer of timers) clearInterval(timer);
    commands.close();
    subscriptions.close();
    primary.close();
  };
  try {
    await Promise.all([commands.open(), subscriptions.open()]);
    await subscriptions.subscribe(own, () => {});
    timers.push(setInterval(() => void compareServers(), COMPARE_MS).unref());
    if (hasSentinels) timers.push(setInterval(() => void followSentinels(), FOLLOW_MS).unref());
  } catch (error) {
    close();
    throw new StartError(
      ['REDIS_URL cannot be reached; check that Redis is running and that the address is right'],
      1,
      error,
    );
  }

  async function run({ sha, text }: Script, keys: readonly string[], args: readonly string[]) {
    const rest = [String(keys.length), ...keys, ...args];
    try {
      return await commands.send(['EVALSHA', sha, ...rest]);
    } catch (error) {
      commands.onError(error);
      // A restarted Redis has lost its scripts.
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return await commands.send(['EVAL', text, ...rest]);
    }
  }

  const withPrefix = (names: string): Redis => ({
    run(script, keys, args, timeoutMs = TIMEOUT_MS) {
      const named = keys.map((key) => names + key);
      return withTimeout(run(script, named, args), timeoutMs);
    },
    publish: (channel, message) =>
      withTimeout(commands.send<number>(['PUBLISH', names + channel, message]), TIMEOUT_MS),
    subscribe: (channel, listener) => subscriptions.subscribe(names + channel, listener),
    onReconnect: (listener) => void listeners.push(listener),
    ping: async () => void (await withTimeout(commands.send(alive), TIMEOUT_MS)),
    isDown: async () =>
      !hasSentinels && commands.endedHealthy && subscriptions.endedHealthy && (await isRedisDown(url)),
    hasNode: async (one) =>
      (await withTimeout(commands.send<number>(['EXISTS', aliveKey(one)]), TIMEOUT_MS)) === 1,
    withPrefix,
    async close() {
      close();
    },
  });
  return withPrefix(prefix);
}

function withTimeout<T>(response: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => afterReading(() => reject(timedOut(ms))), ms);
    response.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(new EngineError('redis', 'the Redis command failed', error));
      },
    );
  });
}

const timedOut = (ms: number) => new EngineError('redis', `Redis did not respond within ${ms} ms`);
