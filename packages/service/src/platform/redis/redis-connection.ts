import type { Log } from '@footbridge/runtime/log';
import { ErrorReply, createClient } from '@redis/client';

type Client = ReturnType<typeof newClient>;

const PING_MS = 250;
/** Pings this far apart mean that this process was stalled. */
const STALL_MS = 2000;
/** A connection that responded this shortly before it ended was healthy. */
const HEALTHY_MS = 3 * PING_MS;
/** A connection without a response for this long is replaced: a network that drops packets reports no error. */
export const SILENT_MS = 4000;
const CONNECT_TIMEOUT_MS = 3000;
const MAX_RECONNECT_MS = 1000;
/**
 * What a server replies that cannot do what the service needs, for example a primary that became a replica. Another server may have taken
 * its place behind the same address.
 */
const UNUSABLE = /^(?:READONLY|LOADING|MASTERDOWN|CLUSTERDOWN|NOPERM|NOAUTH|MISCONF|NOREPLICAS)\b/;

export interface RedisConnectionDeps {
  /** For the log. */
  readonly name: string;
  readonly url: string;
  /** Sent several times a second. A lost connection is only restored to a server that is usable. */
  readonly ping: readonly string[];
  readonly log: Log;
  readonly silentMs: number;
  readonly onReconnect: () => void;
  /** Called when Redis replies that this server is not usable. */
  readonly onUnusable: (reply: Error) => void;
}

/** One connection to Redis that reconnects after every failure and restores its subscriptions. */
export class RedisConnection {
  readonly #deps: RedisConnectionDeps;
  readonly #subscriptions: { channel: string; listener: (message: Buffer) => void }[] = [];
  readonly #pings: NodeJS.Timeout;
  #client: Client;
  /** The last response, or the last stall of this process. */
  #heardAt = performance.now();
  #pingedAt = performance.now();
  #respondedAt = performance.now();
  #isLost = false;
  #endedHealthy = false;
  #restoring: Client | undefined;
  #closed = false;

  constructor(deps: RedisConnectionDeps) {
    this.#deps = deps;
    this.#client = this.#newClient();
    this.#pings = setInterval(() => this.#ping(), PING_MS).unref();
  }

  async open(): Promise<void> {
    await this.#client.connect();
    this.#heardAt = performance.now();
  }

  /** The connection is lost and was healthy until it ended, so every response sent before that has been received. */
  get endedHealthy(): boolean {
    return this.#isLost && this.#endedHealthy;
  }

  send<T>(args: (string | Buffer)[]): Promise<T> {
    return this.#client.sendCommand<T>(args);
  }

  /** Takes the error of a command. */
  onError(error: unknown): void {
    if (isUnusable(error)) this.#deps.onUnusable(error);
  }

  /** Connects again: behind the address there may be another server now. */
  leave(reply?: Error): void {
    const { log, name } = this.#deps;
    if (!this.#isLost)
      log.warn(
        { event: 'redis.server_unusable', connection: name, ...(reply && { err: reply }) },
        'redis accepts no writes, connection replaced',
      );
    this.#replace();
  }

  async subscribe(channel: string, listener: (message: Buffer) => void): Promise<void> {
    this.#subscriptions.push({ channel, listener });
    await this.#client.subscribe(channel, listener, true);
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#pings);
    this.#client.destroy();
  }

  #newClient(): Client {
    const client = newClient(this.#deps.url);
    client.on('error', (error: Error) => {
      if (this.#closed || client !== this.#client) return;
      if (!this.#isLost) {
        this.#endedHealthy = performance.now() - this.#respondedAt < HEALTHY_MS;
        this.#deps.log.warn(
          { event: 'redis.connection_lost', connection: this.#deps.name, err: error },
          'redis connection lost',
        );
      }
      this.#isLost = true;
    });
    // A client destroyed while connecting still completes the connection and subscribes: every message would arrive twice.
    client.on('connect', () => {
      if (this.#closed || client !== this.#client) client.destroy();
    });
    // A client that breaks before it has subscribed emits `ready` again later.
    client.on('ready', () => void this.#restore(client));
    return client;
  }

  /** Never rejects: what Redis refuses is tried again with the next ping. */
  async #restore(client: Client): Promise<void> {
    if (this.#restoring === client) return;
    this.#restoring = client;
    try {
      for (const { channel, listener } of this.#subscriptions)
        await client.subscribe(channel, listener, true);
      await client.sendCommand(this.#deps.ping).catch((error: unknown) => {
        if (!(error instanceof ErrorReply) || isUnusable(error)) throw error;
      });
      if (client !== this.#client || !this.#isLost) return;
      this.#isLost = false;
      const { log, name, onReconnect } = this.#deps;
      log.info({ event: 'redis.connected', connection: name }, 'redis connection restored');
      onReconnect();
    } catch {
      // The ping reports the error.
    } finally {
      if (this.#restoring === client) this.#restoring = undefined;
    }
  }

  #ping(): void {
    const { name, ping, log, silentMs } = this.#deps;
    const now = performance.now();
    // After a stall of this process nothing is known about the connection.
    if (now - this.#pingedAt > STALL_MS) this.#heardAt = now;
    this.#pingedAt = now;
    const client = this.#client;
    if (now - this.#heardAt > silentMs) {
      if (!this.#isLost)
        log.warn(
          { event: 'redis.connection_silent', connection: name },
          'redis does not respond, connection replaced',
        );
      return this.#replace();
    }
    if (!client.isReady) return;
    if (this.#isLost) void this.#restore(client);
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

  #replace(): void {
    const old = this.#client;
    this.#client = this.#newClient();
    this.#heardAt = performance.now();
    this.#isLost = true;
    this.#endedHealthy = false;
    old.destroy();
    this.#client.connect().catch(() => {
      // Rejects only when this client is replaced or closed in turn.
    });
  }
}

const isUnusable = (error: unknown): error is ErrorReply =>
  error instanceof ErrorReply && UNUSABLE.test(error.message);

function newClient(url: string) {
  return createClient({
    url,
    RESP: 2,
    disableOfflineQueue: true,
    // A signal and a timer for each command cost more than the command; callers enforce their own timeouts.
    commandOptions: { timeout: 0 },
    socket: {
      connectTimeout: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      reconnectStrategy: (tries) =>
        Math.min(MAX_RECONNECT_MS, 50 * 2 ** Math.min(tries, 10)) * (0.5 + Math.random() / 2),
    },
  });
}
