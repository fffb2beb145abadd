import type { Clock } from '../../clock.ts';
import { Connection } from './connection.ts';
import type { ConnectionOwner, Destination } from './connection.ts';
import { Exchange, headOf } from './exchange.ts';
import type { Answer, NoAnswer, Outgoing } from './exchange.ts';

export type { Answer, NoAnswer, Outgoing } from './exchange.ts';

/**
 * HTTP to the CRM: keep-alive, HTTP/1.1, no redirects, one deadline over the whole exchange (waiting for a free connection
 * included). Never throws, never retries. Our own, on sockets: two of these calls stand behind every message, and the best library
 * makes each of them cost more than twice as much (`bench/experiments/crm-call-clients.ts`).
 */
export interface Transport {
  send(request: Outgoing): Promise<Answer | NoAnswer>;
  /** Ends what is under way, as if the network had failed. */
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
  const lines = new Map<string, Lines>();
  let cancelSweep: (() => void) | undefined;
  let isClosed = false;

  // One sweep over everything replaces a timer for each exchange.
  function sweep(): void {
    const now = clock.monotonic();
    cancelSweep = undefined;
    for (const one of lines.values()) if (one.sweep(now)) sweepSoon();
  }

  function sweepSoon(): void {
    cancelSweep ??= clock.after(SWEEP_MS, sweep);
  }

  function linesTo(origin: string): Lines {
    const known = lines.get(origin) ?? new Lines(new URL(origin), connections, clock);
    lines.set(origin, known);
    return known;
  }

  return {
    send(request) {
      return new Promise((resolve) => {
        const to = linesTo(request.origin);
        const head = isClosed ? undefined : headOf(request, to.name);
        if (head === undefined) return resolve({ status: 0, reason: 'network', sent: false });
        const deadline = clock.monotonic() + (request.timeoutMs ?? timeoutMs);
        to.send(new Exchange(request, head, deadline, resolve));
        sweepSoon();
      });
    },
    async close() {
      isClosed = true;
      cancelSweep?.();
      for (const one of lines.values()) one.close();
    },
  };
}

/** The connections to one origin, and who waits for one. */
class Lines implements ConnectionOwner {
  /** As the `Host` header has it. */
  readonly name: string;
  readonly #destination: Destination;
  readonly #most: number;
  readonly #clock: Clock;
  readonly #open = new Set<Connection>();
  /** The one used last is used first: the others rest until they are closed. */
  readonly #resting: Connection[] = [];
  #waiting: Exchange[] = [];

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
    const connection = this.#rested() ?? (this.#open.size < this.#most ? this.#connect() : undefined);
    if (connection === undefined) this.#waiting.push(exchange);
    else connection.take(exchange);
  }

  freed(connection: Connection): void {
    const next = this.#waiting.shift();
    if (next !== undefined) return connection.take(next);
    connection.restsUntil = this.#clock.monotonic() + connection.restMs;
    this.#resting.push(connection);
  }

  ended(connection: Connection): void {
    this.#open.delete(connection);
    const at = this.#resting.lastIndexOf(connection);
    if (at >= 0) this.#resting.splice(at, 1);
    const next = this.#waiting.shift();
    if (next !== undefined) this.#connect().take(next);
  }

  /** Ends what is overdue. Answers whether there will be anything to sweep. */
  sweep(now: number): boolean {
    const overdue = this.#waiting.filter(({ deadline }) => deadline <= now);
    if (overdue.length > 0) this.#waiting = this.#waiting.filter(({ deadline }) => deadline > now);
    for (const exchange of overdue) exchange.fail('timeout');
    for (const connection of this.#open) {
      const { exchange } = connection;
      if ((exchange?.deadline ?? connection.restsUntil) > now) continue;
      exchange?.fail('timeout');
      connection.destroy();
    }
    return this.#open.size > 0;
  }

  close(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const exchange of waiting) exchange.fail('network');
    for (const connection of this.#open) connection.destroy();
  }

  #connect(): Connection {
    const connection = new Connection(this.#destination, this);
    this.#open.add(connection);
    return connection;
  }

  #rested(): Connection | undefined {
    const connection = this.#resting.pop();
    if (connection === undefined || connection.restsUntil > this.#clock.monotonic()) return connection;
    connection.destroy();
    return this.#rested();
  }
}
