import { createServer } from 'node:net';
import type { Server } from 'node:net';

/**
 * A TCP port of 127.0.0.1 that nobody listens on at this moment. Prefer listening on 0; this is for programs that
 * must be told a number. `below` keeps clear of the ephemeral range, where an outgoing connection may take the port
 * between the question and its use.
 */
export async function freePort(options: { below?: number } = {}): Promise<number> {
  if (options.below === undefined) return tryPort(0);
  for (let attempt = 0; attempt < 50; attempt++) {
    const port = await tryPort(randomPort(options.below)).catch(() => undefined);
    if (port !== undefined) return port;
  }
  throw new Error(`No free port found below ${options.below} in 50 attempts.`);
}

/** The port a listening server got. */
export function portOf(server: Pick<Server, 'address'>): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server listens on no TCP port.');
  return address.port;
}

function randomPort(below: number): number {
  const lowest = 10_000;
  return lowest + Math.floor(Math.random() * (below - lowest));
}

async function tryPort(port: number): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  const got = portOf(server);
  await new Promise((resolve) => server.close(resolve));
  return got;
}
