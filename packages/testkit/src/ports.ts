import { createServer } from 'node:net';

import { listen } from './loopback.ts';

/** Returns a free TCP port on 127.0.0.1, for programs that need a fixed port. */
export async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}
