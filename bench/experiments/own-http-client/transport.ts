import type { Clock } from '@footbridge/runtime/clock';

import { Connection } from './connection.ts';
import type { ConnectionOwner, Destination } from './connection.ts';
import { Exchange, headOf } from './exchange.ts';
import type { Answer, NoAnswer, Outgoing } from './exchange.ts';

export type { Answer, NoAnswer, Outgoing } from './exchange.ts';

/**
 * HTTP/1.1 on plain sockets, the client the service used before undici. Kept for comparison: cheap over plain HTTP, but over TLS it
 * discards connections whenever the poll count does not advance as expected (`bench/experiments/crm-call-clients.ts`). One deadline
 * covers the whole exchange. Follows no redirects, never retries, never throws.
 */
export interface Transport {
  send(request: Outgoing): Promise<Answer | NoAnswer>;
  /** Ends exchanges in flight as if the network had failed. */
  close(): Promise<void>;
}

export interface TransportOptions {
  readonly clock: Clock;
  readonly timeoutMs?: number;
  /** Per origin. Must carry rate × 2 × latency, or status calls queue up behind each other for seconds. */
  readonly connections?: number;
}

const SWEEP_MS = 250;

export function createTransport(options: TransportOptions): Transport {
  const { clock, timeoutMs = 10_000, connections = 256 } = options;
  const pools = new Map<string, OriginPool>();
  let cancelSweep: (() => void) | undefined;
  let isClosed = false;

  // One sweep over all exchanges replaces a timer per exchange.
  function sweep(): void {
    const now = clock.monotonic();
    cancelSweep = undefined;
    for (const one of pools.values()) if (one.sweep(now)) sweepSoon();
  }

  function sweepSoon(): void {
    cancelSweep ??= clock.after(SWEEP_MS, sweep);
  }

  function poolFor(origin: string): OriginPool | undefined {
    const known = pools.get(origin);
    const url = known === undefined ? URL.parse(origin) : null;
    if (url === null || !/^https?:$/.test(url.protocol)) return known;
    const made = new OriginPool(url, connections, clock);
    pools.set(origin, made);
    return made;
  }

  return {
    send(request) {
      return new Promise((resolve) => {
        const to = isClosed ? undefined : poolFor(request.origin);
        const head = to && headOf(request, to.name);
        if (to === undefined || head === undefined)
          return resolve({ status: 0, reason: 'network', sent: false });
        const deadline = clock.monotonic() + (request.timeoutMs ?? timeoutMs);
        to.send(new Exchange(request, head, deadline, resolve));
        sweepSoon();
      });
    },
    async close() {
      isClosed = true;
      cancelSweep?.();
      for (const one of pools.values()) one.close();
    },
  };
}

/** The connections to one origin and the exchanges that wait for one. */
class OriginPool implements ConnectionOwner {
  /** Value of the `Host` header. */
  readonly name: string;
  readonly #destination: Destination;
  readonly #most: number;
  readonly #clock: Clock;
  readonly #open = new Set<Connection>();
  /** Just freed, oldest first: not reusable before the event loop has polled once more. */
  readonly #fresh: Connection[] = [];
  /** Last in, first out: surplus connections stay idle until they are closed. */
  readonly #resting: Connection[] = [];
  #waiting: Exchange[] = [];
  #isLending = false;

  constructor({ host, hostname, port, protocol }: URL, most: number, clock: Clock) {
    const isSecure = protocol === 'https:';
    this.name = host;
    this.#destination = {
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port) || (isSecure ? 443 : 80),
      isSecure,
    };
    this.#most = most;
    this.#clock = clock;
  }

  send(exchange: Exchange): void {
    const rested = this.#waiting.length === 0 ? this.#rested(polls() - 2) : undefined;
    if (rested !== undefined) return rested.take(exchange);
    const isServedSoon = this.#fresh.length > this.#waiting.length;
    if (!isServedSoon && this.#open.size < this.#most) return this.#connect().take(exchange);
    this.#waiting.push(exchange);
    this.#lendSoon();
  }

  freed(connection: Connection): void {
    connection.restsUntil = this.#clock.monotonic() + connection.restMs;
    connection.freedAtPoll = polls();
    this.#fresh.push(connection);
    this.#lendSoon();
  }

  ended(connection: Connection): void {
    this.#open.delete(connection);
    for (const free of [this.#fresh, this.#resting]) {
      const at = free.indexOf(connection);
      if (at >= 0) free.splice(at, 1);
    }
    const next = this.#next();
    if (next !== undefined) this.#connect().take(next);
  }

  /** Ends overdue exchanges. Returns whether another sweep is needed. */
  sweep(now: number): boolean {
    const overdue = this.#waiting.filter(({ deadline }) => deadline <= now);
    if (overdue.length > 0) this.#waiting = this.#waiting.filter(({ deadline }) => deadline > now);
    for (const exchange of overdue) exchange.fail('timeout');
    for (const connection of this.#open) {
      if ((connection.exchange?.deadline ?? connection.restsUntil) <= now) connection.destroy('timeout');
    }
    return this.#open.size > 0;
  }

  close(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const exchange of waiting) exchange.fail('network');
    for (const connection of this.#open) connection.destroy();
  }

  #lendSoon(): void {
    if (this.#isLending || this.#waiting.length === 0 || this.#fresh.length === 0) return;
    this.#isLending = true;
    setImmediate(this.#lend);
  }

  /** Runs after a poll, which counts. */
  readonly #lend = (): void => {
    this.#isLending = false;
    while (this.#waiting.length > 0) {
      const connection = this.#rested(polls() - 1);
      if (connection === undefined) return this.#lendSoon();
      const next = this.#next();
      if (next === undefined) this.#resting.push(connection);
      else connection.take(next);
    }
  };

  /** The first exchange that has not expired. */
  #next(): Exchange | undefined {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      if (next.deadline > this.#clock.monotonic()) return next;
      next.fail('timeout');
    }
    return undefined;
  }

  #connect(): Connection {
    const connection = new Connection(this.#destination, this);
    this.#open.add(connection);
    return connection;
  }

  /**
   * Returns a connection the event loop has polled since its last response: some servers close without notice, and unsolicited
   * bytes would be taken for the next response. `poll` is the newest poll count that is old enough.
   */
  #rested(poll: number): Connection | undefined {
    for (let [first] = this.#fresh; first !== undefined && first.freedAtPoll <= poll; [first] = this.#fresh) {
      this.#fresh.shift();
      this.#resting.push(first);
    }
    const connection = this.#resting.pop();
    if (connection === undefined || connection.restsUntil > this.#clock.monotonic()) return connection;
    connection.destroy();
    return this.#rested(poll);
  }
}

/** How many times the event loop has polled its sockets, including the current turn. */
const polls = () => performance.nodeTiming.uvMetricsInfo.loopCount;
