// A process of Macs that connect, register, answer pings, and reconnect on command.
import process from 'node:process';

import { WebSocketClient } from '../environment/websocket-client.ts';

export type FleetCommand =
  | { readonly do: 'connect'; readonly url: string; readonly macs: readonly (readonly [string, string])[] }
  | { readonly do: 'storm' }
  | { readonly do: 'leave' };

export interface FleetReport {
  /** From the first attempt to the last `registered`. */
  readonly ms: number;
  readonly registered: number;
  /** The number of retried attempts. */
  readonly retries: number;
}

const RETRY_MS = 250;

class FleetMac {
  readonly #url: string;
  readonly #token: string;
  readonly #locationId: string;
  #socket: WebSocketClient | undefined;
  retries = 0;

  constructor(url: string, token: string, locationId: string) {
    this.#url = url;
    this.#token = token;
    this.#locationId = locationId;
  }

  connect(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const attempt = () => {
      const socket = new WebSocketClient(
        this.#url,
        { 'Sec-WebSocket-Protocol': 'footbridge.v1', Authorization: `Bearer ${this.#token}` },
        {
          opened: () => socket.send(this.#register()),
          text: (text) => {
            if (text.startsWith('{"type":"registered"')) resolve();
          },
          lost: (reason) => {
            // These codes are final: the Mac would be rejected again.
            if (reason.startsWith('closed with 45')) return reject(new Error(reason));
            this.retries++;
            setTimeout(attempt, RETRY_MS);
          },
        },
      );
      this.#socket = socket;
    };
    attempt();
    return promise;
  }

  drop(): void {
    this.#socket?.end();
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
  const before = fleet.reduce((sum, mac) => sum + mac.retries, 0);
  const started = performance.now();
  await Promise.all(fleet.map((mac) => mac.connect()));
  const retries = fleet.reduce((sum, mac) => sum + mac.retries, 0) - before;
  return { ms: performance.now() - started, registered: fleet.length, retries };
}

async function run(command: FleetCommand): Promise<void> {
  if (command.do === 'leave') process.exit(0);
  if (command.do === 'connect')
    fleet = command.macs.map(([token, locationId]) => new FleetMac(command.url, token, locationId));
  else for (const mac of fleet) mac.drop();
  process.send?.(await connectAll());
}

process.on('message', (command) => void run(command as FleetCommand));
