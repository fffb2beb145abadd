import type { Log } from '@footbridge/runtime/log';
import { createClient } from '@redis/client';

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

/** One connection to Redis that reconnects after every failure and restores its subscriptions. */
export class RedisConnection {
  readonly #name: string;
  readonly #url: string;
  readonly #log: Log;
  readonly #silentMs: number;
  readonly #onReconnect: () => void;
  readonly #subscriptions: { channel: string; listener: (message: Buffer) => void }[] = [];
  readonly #pings: NodeJS.Timeout;
  #client: Client;
  /** The last response, or the last stall of this process. */
  #heardAt = performance.now();
  #pingedAt = performance.now();
  #respondedAt = performance.now();
  #isLost = false;
  #endedHealthy = false;
  #closed = false;

  constructor(name: string, url: string, log: Log, silentMs: number, onReconnect: () => void) {
    this.#name = name;
    this.#url = url;
    this.#log = log;
    this.#silentMs = silentMs;
    this.#onReconnect = onReconnect;
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
    const client = newClient(this.#url);
    client.on('error', (error: Error) => {
      if (this.#closed || client !== this.#client) return;
      if (!this.#isLost) {
        this.#endedHealthy = performance.now() - this.#respondedAt < HEALTHY_MS;
        this.#log.warn(
          { event: 'redis.connection_lost', connection: this.#name, err: error },
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
    client.on('ready', () => void this.#onReady(client).catch(() => {}));
    return client;
  }

  async #onReady(client: Client): Promise<void> {
    for (const { channel, listener } of this.#subscriptions) await client.subscribe(channel, listener, true);
    if (client !== this.#client || !this.#isLost) return;
    this.#isLost = false;
    this.#log.info({ event: 'redis.connected', connection: this.#name }, 'redis connection restored');
    this.#onReconnect();
  }

  #ping(): void {
    const now = performance.now();
    // After a stall of this process nothing is known about the connection.
    if (now - this.#pingedAt > STALL_MS) this.#heardAt = now;
    this.#pingedAt = now;
    const client = this.#client;
    if (now - this.#heardAt > this.#silentMs) return this.#replace();
    if (client.isReady)
      client.ping().then(
        () => {
          if (client === this.#client) this.#heardAt = this.#respondedAt = performance.now();
        },
        () => {},
      );
  }

  #replace(): void {
    const old = this.#client;
    this.#client = this.#newClient();
    this.#heardAt = performance.now();
    if (!this.#isLost)
      this.#log.warn(
        { event: 'redis.connection_silent', connection: this.#name },
        'redis does not respond, connection replaced',
      );
    this.#isLost = true;
    this.#endedHealthy = false;
    old.destroy();
    this.#client.connect().catch(() => {
      // Rejects only when this client is replaced or closed in turn.
    });
  }
}

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
