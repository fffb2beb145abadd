import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';

import type { Cleanup } from '@footbridge/testkit/cleanup';

/** Starts a TCP load balancer that sends each connection to a random one of the addresses, and returns its URL. */
export async function startBalancer(
  cleanup: Cleanup,
  urls: readonly string[],
  random: () => number,
): Promise<string> {
  const server = createServer((client) => {
    const { hostname, port } = new URL(urls[Math.floor(random() * urls.length)] ?? '');
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
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
