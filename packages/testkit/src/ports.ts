import { createServer } from 'node:net';
import type { Server } from 'node:net';

/**
 * Returns a free TCP port on 127.0.0.1. Prefer listening on port 0; this is for programs that need a fixed port. `below`
 * avoids the ephemeral range, where an outgoing connection may take the port before it is used.
 */
export async function freePort(options: { below?: number } = {}): Promise<number> {
  if (options.below === undefined) return tryPort(0);
  for (let attempt = 0; attempt < 50; attempt++) {
    const port = await tryPort(randomPort(options.below)).catch(() => undefined);
    if (port !== undefined) return port;
  }
  throw new Error(`No free port found below ${options.below} in 50 attempts.`);
}

/** Returns the port of a listening server. */
export function portOf(server: Pick<Server, 'address'>): number {
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new Error('The server does not listen on a TCP port.');
  return address.port;
}

function randomPort(below: number): number {
  const min = 10_000;
  return min + Math.floor(Math.random() * (below - min));
}

async function tryPort(port: number): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  const listeningPort = portOf(server);
  await new Promise((resolve) => server.close(resolve));
  return listeningPort;
}
