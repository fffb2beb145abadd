import { createClient } from '@redis/client';

import type { Logger } from '../log.ts';

type Client = ReturnType<typeof connection>;

const CHECK_MS = 250;
/** Checks this far apart: it was us who slept. */
const SLEPT_MS = 2000;
/** A connection that was heard this shortly before it ended had missed nothing until then. */
const SHORTLY_MS = 3 * CHECK_MS;
/** A connection on which nothing is heard for this long is replaced: a network that swallows everything says nothing either. */
export const SILENT_MS = 4000;
const CONNECT_MS = 3000;
const LONGEST_PAUSE_MS = 1000;

/** One connection to Redis that comes back whatever happens to it, with everything it listened to. */
export class RedisLink {
  readonly #name: string;
  readonly #url: string;
  readonly #log: Logger;
  readonly #silentMs: number;
  readonly #isBack: () => void;
  readonly #subscriptions: { channel: string; listener: (message: Buffer) => void }[] = [];
  readonly #watch: NodeJS.Timeout;
  #client: Client;
  #heardAt = performance.now();
  #checkedAt = performance.now();
  #answeredAt = performance.now();
  #away = false;
  #endedWell = false;
  #closed = false;

  constructor(name: string, url: string, log: Logger, silentMs: number, isBack: () => void) {
    this.#name = name;
    this.#url = url;
    this.#log = log;
    this.#silentMs = silentMs;
    this.#isBack = isBack;
    this.#client = this.#newClient();
    this.#watch = setInterval(() => this.#check(), CHECK_MS).unref();
  }

  async open(): Promise<void> {
    await this.#client.connect();
    this.#heardAt = performance.now();
  }

  /** It ended in good health, and is not back: nothing that was said to it before is unknown. */
  get endedWell(): boolean {
    return this.#away && this.#endedWell;
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
    clearInterval(this.#watch);
    this.#client.destroy();
  }

  #newClient(): Client {
    const client = connection(this.#url);
    client.on('error', (error: Error) => {
      if (this.#closed || client !== this.#client) return;
      if (!this.#away) {
        this.#endedWell = performance.now() - this.#answeredAt < SHORTLY_MS;
        this.#log.warn({ connection: this.#name, err: error }, 'Redis is away');
      }
      this.#away = true;
    });
    // One that breaks again before it listens becomes ready again later.
    client.on('ready', () => void this.#ready(client).catch(() => {}));
    return client;
  }

  async #ready(client: Client): Promise<void> {
    for (const { channel, listener } of this.#subscriptions) await client.subscribe(channel, listener, true);
    if (client !== this.#client || !this.#away) return;
    this.#away = false;
    this.#log.info({ connection: this.#name }, 'Redis is back');
    this.#isBack();
  }

  #check(): void {
    const now = performance.now();
    // It was us who slept: nothing is known about the connection.
    if (now - this.#checkedAt > SLEPT_MS) this.#heardAt = now;
    this.#checkedAt = now;
    const client = this.#client;
    if (now - this.#heardAt > this.#silentMs) return this.#replace();
    if (client.isReady)
      client.ping().then(
        () => {
          if (client === this.#client) this.#heardAt = this.#answeredAt = performance.now();
        },
        () => {},
      );
  }

  #replace(): void {
    const old = this.#client;
    this.#client = this.#newClient();
    this.#heardAt = performance.now();
    if (!this.#away) this.#log.warn({ connection: this.#name }, 'Redis is away: it says nothing');
    this.#away = true;
    this.#endedWell = false;
    old.destroy();
    this.#client.connect().catch(() => {
      // Replaced in its turn, or closed: whoever did that knows.
    });
  }
}

function connection(url: string) {
  return createClient({
    url,
    RESP: 2,
    disableOfflineQueue: true,
    // A signal and a timer for each command cost more than the command; who waits has a deadline of his own.
    commandOptions: { timeout: 0 },
    socket: {
      connectTimeout: CONNECT_MS,
      keepAlive: true,
      reconnectStrategy: (tries) =>
        Math.min(LONGEST_PAUSE_MS, 50 * 2 ** Math.min(tries, 10)) * (0.5 + Math.random() / 2),
    },
  });
}
