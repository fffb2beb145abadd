// Macs in a process of their own: they connect, register, answer pings, and come back when told to.
import process from 'node:process';

import { SocketLine } from '../world/socket-line.ts';

export type FleetOrder =
  | { readonly do: 'connect'; readonly url: string; readonly macs: readonly (readonly [string, string])[] }
  | { readonly do: 'storm' }
  | { readonly do: 'leave' };

export interface FleetReport {
  /** From the first attempt to the last `registered`. */
  readonly ms: number;
  readonly bound: number;
  /** Attempts that failed and were made again. */
  readonly again: number;
}

const RETRY_MS = 250;

class FleetMac {
  readonly #url: string;
  readonly #token: string;
  readonly #locationId: string;
  #line: SocketLine | undefined;
  again = 0;

  constructor(url: string, token: string, locationId: string) {
    this.#url = url;
    this.#token = token;
    this.#locationId = locationId;
  }

  connect(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const attempt = () => {
      const line = new SocketLine(
        this.#url,
        { 'Sec-WebSocket-Protocol': 'footbridge.v1', Authorization: `Bearer ${this.#token}` },
        {
          opened: () => line.send(this.#register()),
          text: (text) => {
            if (text.startsWith('{"type":"registered"')) resolve();
          },
          lost: () => {
            this.again++;
            setTimeout(attempt, RETRY_MS);
          },
        },
      );
      this.#line = line;
    };
    attempt();
    return promise;
  }

  drop(): void {
    this.#line?.end();
  }

  #register(): string {
    return JSON.stringify({
      type: 'register',
      locationId: this.#locationId,
      agent: { version: '0.1.0' },
      os: { name: 'macOS', version: '26.1' },
      capabilities: [],
    });
  }
}

let fleet: FleetMac[] = [];

async function connectAll(): Promise<FleetReport> {
  const before = fleet.reduce((sum, mac) => sum + mac.again, 0);
  const since = performance.now();
  await Promise.all(fleet.map((mac) => mac.connect()));
  const again = fleet.reduce((sum, mac) => sum + mac.again, 0) - before;
  return { ms: performance.now() - since, bound: fleet.length, again };
}

async function obey(order: FleetOrder): Promise<void> {
  if (order.do === 'leave') process.exit(0);
  if (order.do === 'connect')
    fleet = order.macs.map(([token, locationId]) => new FleetMac(order.url, token, locationId));
  else for (const mac of fleet) mac.drop();
  process.send?.(await connectAll());
}

process.on('message', (order) => void obey(order as FleetOrder));
