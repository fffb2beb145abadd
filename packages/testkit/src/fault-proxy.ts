import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { Link } from './fault-proxy/link.ts';
import type { Target } from './fault-proxy/link.ts';
import { Toxics } from './fault-proxy/toxics.ts';
import type { Toxic, ToxicHandle } from './fault-proxy/toxics.ts';
import { listen } from './loopback.ts';

export type { Direction, Toxic, ToxicHandle, ToxicType } from './fault-proxy/toxics.ts';

export interface FaultProxyOptions {
  /** `host:port`, or a URL with both. */
  to: string;
  port?: number;
  /** Seed of the random choices. The same seed gives the same choices. */
  seed?: number;
}

export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const proxy = new FaultProxy(options);
  await proxy.up(options.port ?? 0);
  return proxy;
}

/** A TCP proxy that forwards everything unchanged until a toxic is added. */
export class FaultProxy {
  port = 0;
  /** Totals since the start. Only forwarded bytes count. */
  readonly seen = { connections: 0, up: 0, down: 0 };
  #target: Target;
  readonly #toxics: Toxics;
  readonly #links = new Set<Link>();
  readonly #repeats = new Set<Socket>();
  readonly #server = createServer({ allowHalfOpen: true }, (client) => {
    this.seen.connections++;
    const link = new Link(client, this.#target, this.#toxics, {
      forwarded: (direction, bytes) => (this.seen[direction] += bytes),
      repeat: (request) => this.#repeat(request),
      closed: (closedLink) => this.#links.delete(closedLink),
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

  /** The number of open connections, including half-open ones. */
  get open(): number {
    return this.#links.size;
  }

  get toxics(): { id: number; toxic: Toxic; hits: number }[] {
    return this.#toxics.list;
  }

  /** Returns the same URL with the address of this proxy. */
  url(like: string): string {
    const url = new URL(like);
    url.hostname = '127.0.0.1';
    url.port = String(this.port);
    return url.href.replace(/\/$/, like.endsWith('/') ? '/' : '');
  }

  /** Adds a toxic. It takes effect immediately, also on open connections. */
  add(toxic: Toxic): ToxicHandle {
    const handle = this.#toxics.add(toxic, () => this.#resetDamaged());
    for (const link of this.#links) link.applyResetToxics();
    return handle;
  }

  /** Sends new connections to another address. Open ones stay where they are, as with a DNS name or a virtual address. */
  redirect(to: string): void {
    this.#target = targetOf(to);
  }

  /** Removes all toxics. */
  clear(): void {
    this.#toxics.clear();
    this.#resetDamaged();
  }

  /** Resets every open connection once. */
  cut(): void {
    for (const link of this.#links) link.reset();
  }

  /** Stops listening and resets all connections, as if the server were down. */
  async down(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.cut();
    await closed;
  }

  /** Listens, after `down` on the same port. */
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
    // The response is discarded: the client already has one.
    socket.on('data', () => socket.end());
    socket.on('close', () => this.#repeats.delete(socket));
  }

  #resetDamaged(): void {
    for (const link of this.#links) link.resetIfDamaged();
  }
}

function targetOf(to: string): Target {
  const { hostname, port } = new URL(to.includes('://') ? to : `tcp://${to}`);
  if (port === '') throw new Error(`"${to}" has no port: use host:port.`);
  return { host: hostname.replaceAll(/[[\]]/g, ''), port: Number(port) };
}
