import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { Link } from './fault-proxy/link.ts';
import type { Target } from './fault-proxy/link.ts';
import { Toxics } from './fault-proxy/toxics.ts';
import type { Toxic, ToxicHandle } from './fault-proxy/toxics.ts';
import { listen } from './loopback.ts';

export type { Direction, Toxic, ToxicHandle, ToxicType } from './fault-proxy/toxics.ts';

export interface FaultProxyOptions {
  /** `host:port`, or any URL that has both. */
  to: string;
  port?: number;
  /** The same seed casts the same dice. */
  seed?: number;
}

export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const proxy = new FaultProxy(options);
  await proxy.up(options.port ?? 0);
  return proxy;
}

/** A TCP link to a server, faithful until a toxic is put into it. */
export class FaultProxy {
  port = 0;
  /** Over its whole life; bytes are those that got through. */
  readonly seen = { connections: 0, up: 0, down: 0 };
  readonly #target: Target;
  readonly #toxics: Toxics;
  readonly #links = new Set<Link>();
  readonly #repeats = new Set<Socket>();
  readonly #server = createServer({ allowHalfOpen: true }, (client) => {
    this.seen.connections++;
    const link = new Link(client, this.#target, this.#toxics, {
      passed: (direction, bytes) => (this.seen[direction] += bytes),
      repeat: (request) => this.#repeat(request),
      over: (done) => this.#links.delete(done),
    });
    this.#links.add(link);
  });

  constructor({ to, seed = 1 }: FaultProxyOptions) {
    this.#target = targetOf(to);
    this.#toxics = new Toxics(seed);
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** Open connections, also those only one end still believes in. */
  get open(): number {
    return this.#links.size;
  }

  get toxics(): { id: number; toxic: Toxic; hits: number }[] {
    return this.#toxics.list;
  }

  /** The same URL, but through this proxy. */
  url(like: string): string {
    const url = new URL(like);
    url.hostname = '127.0.0.1';
    url.port = String(this.port);
    return url.href.replace(/\/$/, like.endsWith('/') ? '/' : '');
  }

  /** Works at once, on open connections too. */
  add(toxic: Toxic): ToxicHandle {
    const handle = this.#toxics.add(toxic, () => this.#settle());
    for (const link of this.#links) link.resetIfTold();
    return handle;
  }

  /** Takes all toxics out. */
  clear(): void {
    this.#toxics.clear();
    this.#settle();
  }

  /** Resets every open connection, once. */
  cut(): void {
    for (const link of this.#links) link.reset();
  }

  /** Nobody listens any more and all connections are reset: the server has left, as far as clients can tell. */
  async down(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.cut();
    await closed;
  }

  /** Listens (again), on the port it had. */
  async up(port = this.port): Promise<void> {
    this.port = await listen(this.#server, port);
  }

  async stop(): Promise<void> {
    this.#toxics.clear();
    for (const socket of this.#repeats) socket.destroy();
    if (this.#server.listening) await this.down();
  }

  #repeat(request: Buffer): void {
    const socket = connect(this.#target, () => socket.write(request));
    this.#repeats.add(socket);
    socket.setTimeout(5_000, () => socket.destroy());
    socket.on('error', () => socket.destroy());
    // The answer goes nowhere: whoever asked has one already.
    socket.on('data', () => socket.end());
    socket.on('close', () => this.#repeats.delete(socket));
  }

  #settle(): void {
    for (const link of this.#links) link.settle();
  }
}

function targetOf(to: string): Target {
  const { hostname, port } = new URL(to.includes('://') ? to : `tcp://${to}`);
  if (port === '') throw new Error(`"${to}" names no port: write host:port.`);
  return { host: hostname.replaceAll(/[[\]]/g, ''), port: Number(port) };
}
