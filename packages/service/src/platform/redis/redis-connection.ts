import { setTimeout as sleep } from 'node:timers/promises';

import type { Log } from '@footbridge/runtime/log';
import { ErrorReply, createClient } from '@redis/client';

import type { Primary, PrimaryFinder } from './find-primary.ts';

type Client = ReturnType<typeof newClient>;

const PING_MS = 250;
/** Pings this far apart mean that this process was stalled. */
const STALL_MS = 2000;
/** A connection that responded this shortly before it ended was healthy. */
const HEALTHY_MS = 3 * PING_MS;
/** A connection without a response for this long is replaced: a network that drops packets reports no error. */
export const SILENT_MS = 4000;
/** Three round trips. A server that is about to become a replica accepts connections and responds to nothing. */
const CONNECT_TIMEOUT_MS = 3000;
const MIN_RECONNECT_MS = 50;
const MAX_RECONNECT_MS = 500;
/**
 * What a server replies that cannot do what the service needs, for example a primary that became a replica. Another server may have taken
 * its place.
 */
const UNUSABLE = /^(?:READONLY|LOADING|MASTERDOWN|CLUSTERDOWN|NOPERM|NOAUTH|MISCONF|NOREPLICAS)\b/;

export interface RedisConnectionDeps {
  /** For the log. */
  readonly name: string;
  readonly primary: Pick<PrimaryFinder, 'find'>;
  /** Sent to each new server, which is left again when it is not usable. */
  readonly check: readonly string[];
  /** Sent several times a second. */
  readonly ping: readonly string[];
  readonly log: Log;
  readonly silentMs: number;
  readonly onReconnect: () => void;
  /** Called when Redis replies that this server is not usable. */
  readonly onUnusable: (reply: Error) => void;
}

/** One connection to Redis. After every failure it is replaced by a new one, with its subscriptions. */
export class RedisConnection {
  readonly #deps: RedisConnectionDeps;
  readonly #subscriptions: { channel: string; listener: (message: Buffer) => void }[] = [];
  readonly #pings: NodeJS.Timeout;
  readonly #ending = new AbortController();
  /** Undefined while the connection is lost. */
  #client: Client | undefined;
  /** Where it is connected to. */
  #server: Primary | undefined;
  /** The last response, or the last stall of this process. */
  #heardAt = performance.now();
  #pingedAt = performance.now();
  #respondedAt = performance.now();
  #endedHealthy = false;

  constructor(deps: RedisConnectionDeps) {
    this.#deps = deps;
    this.#pings = setInterval(() => this.#ping(), PING_MS).unref();
  }

  /** Rejects when no attempt has succeeded for as long as a connection may be silent. */
  async open(): Promise<void> {
    const end = performance.now() + this.#deps.silentMs;
    await this.#connect(() => performance.now() < end);
  }

  /** The connection is lost and was healthy until it ended, so every response sent before that has been received. */
  get endedHealthy(): boolean {
    return this.isLost && this.#endedHealthy;
  }

  send<T>(args: (string | Buffer)[]): Promise<T> {
    return this.#client?.sendCommand<T>(args) ?? Promise.reject(lost());
  }

  /** Takes the error of a command. */
  onError(error: unknown): void {
    if (isUnusable(error)) this.#deps.onUnusable(error);
  }

  get isLost(): boolean {
    return this.#client === undefined;
  }

  /** Whether this is connected to an earlier primary. */
  isBehind({ url, epoch }: Primary): boolean {
    return !this.isLost && this.#server?.url !== url && (this.#server?.epoch ?? 0) < epoch;
  }

  /** Connects again: there may be another server in its place now. */
  leave(): void {
    if (!this.isLost) this.#lose(false);
  }

  async subscribe(channel: string, listener: (message: Buffer) => void): Promise<void> {
    if (this.#client === undefined) throw lost();
    await this.#client.subscribe(channel, listener, true);
    this.#subscriptions.push({ channel, listener });
  }

  close(): void {
    clearInterval(this.#pings);
    this.#ending.abort();
    this.#client?.destroy();
    this.#client = undefined;
  }

  #lose(isHealthy: boolean): void {
    const lost = this.#client;
    this.#client = undefined;
    this.#endedHealthy = isHealthy;
    lost?.destroy();
    const { name, log, onReconnect } = this.#deps;
    this.#connect().then(
      () => {
        log.info({ event: 'redis.connected', connection: name }, 'redis connection restored');
        onReconnect();
      },
      () => {
        // Closed.
      },
    );
  }

  /** Tries until it succeeds. Rejects when this is closed, or with the last error when it should not go on. */
  async #connect(shouldGoOn = () => true): Promise<void> {
    for (let tries = 0; ; tries++) {
      try {
        return await this.#connectOnce();
      } catch (error) {
        if (this.#ending.signal.aborted || !shouldGoOn()) throw error;
      }
      const pauseMs = Math.min(MAX_RECONNECT_MS, MIN_RECONNECT_MS * 2 ** Math.min(tries, 10));
      await sleep(pauseMs * (0.5 + Math.random() / 2), undefined, { signal: this.#ending.signal });
    }
  }

  async #connectOnce(): Promise<void> {
    const { primary, silentMs, log, name } = this.#deps;
    const server = await primary.find();
    const client = newClient(server.url);
    client.on('error', (error: Error) => {
      if (client !== this.#client) return;
      log.warn({ event: 'redis.connection_lost', connection: name, err: error }, 'redis connection lost');
      this.#lose(performance.now() - this.#respondedAt < HEALTHY_MS);
    });
    const { promise: ended, reject } = Promise.withResolvers<never>();
    const end = () => reject(lost());
    const timer = setTimeout(end, Math.min(silentMs, CONNECT_TIMEOUT_MS));
    this.#ending.signal.addEventListener('abort', end);
    try {
      this.#ending.signal.throwIfAborted();
      await Promise.race([this.#prepare(client), ended]);
    } catch (error) {
      client.destroy();
      // A client that is destroyed while connecting still completes the connection.
      client.on('connect', () => client.destroy());
      throw error;
    } finally {
      clearTimeout(timer);
      this.#ending.signal.removeEventListener('abort', end);
    }
    this.#client = client;
    this.#server = server;
    this.#heardAt = this.#respondedAt = performance.now();
  }

  async #prepare(client: Client): Promise<void> {
    await client.connect();
    await client.sendCommand(this.#deps.check).catch((error: unknown) => {
      if (!(error instanceof ErrorReply) || isUnusable(error)) throw error;
    });
    await Promise.all(
      this.#subscriptions.map(({ channel, listener }) => client.subscribe(channel, listener, true)),
    );
  }

  #ping(): void {
    const { name, ping, log, silentMs } = this.#deps;
    const now = performance.now();
    // After a stall of this process nothing is known about the connection.
    if (now - this.#pingedAt > STALL_MS) this.#heardAt = now;
    this.#pingedAt = now;
    const client = this.#client;
    if (client === undefined) return;
    if (now - this.#heardAt > silentMs) {
      log.warn(
        { event: 'redis.connection_silent', connection: name },
        'redis does not respond, connection replaced',
      );
      return this.#lose(false);
    }
    client.sendCommand(ping).then(
      () => this.#heard(client),
      (error: unknown) => {
        if (!(error instanceof ErrorReply)) return;
        this.#heard(client);
        if (client === this.#client) this.onError(error);
      },
    );
  }

  #heard(client: Client): void {
    if (client === this.#client) this.#heardAt = this.#respondedAt = performance.now();
  }
}

const lost = () => new Error('the connection to Redis is lost');

const isUnusable = (error: unknown): error is ErrorReply =>
  error instanceof ErrorReply && UNUSABLE.test(error.message);

/** For one connection. */
function newClient(url: string) {
  return createClient({
    url,
    RESP: 2,
    disableOfflineQueue: true,
    // A signal and a timer for each command cost more than the command; callers enforce their own timeouts.
    commandOptions: { timeout: 0 },
    socket: { connectTimeout: CONNECT_TIMEOUT_MS, keepAlive: true, reconnectStrategy: false },
  });
}
