import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';

import type { Cleanup } from '@footbridge/testkit/cleanup';

/** A TCP connection through the balancer. Times are monotonic. */
export interface Connection {
  /** The index of the address. */
  readonly node: number;
  readonly openedAt: number;
  closedAt: number;
}

export interface Balancer {
  readonly url: string;
  readonly connections: readonly Connection[];
}

/** Starts a TCP load balancer that sends each connection to a random one of the addresses. */
export async function startBalancer(
  cleanup: Cleanup,
  urls: readonly string[],
  random: () => number,
): Promise<Balancer> {
  const connections: Connection[] = [];
  const server = createServer((client) => {
    const index = Math.floor(random() * urls.length);
    const { hostname, port } = new URL(urls[index] ?? '');
    const connection = { node: index, openedAt: performance.now(), closedAt: Infinity };
    connections.push(connection);
    client.on('close', () => (connection.closedAt = performance.now()));
    const node = connect(Number(port), hostname);
    for (const [from, to] of [
      [client, node],
      [node, client],
    ] as const) {
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanup.add(() => new Promise((resolve) => void server.close(resolve)));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, connections };
}
