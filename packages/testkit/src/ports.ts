import { createServer } from 'node:net';

import { listen, reserve } from './loopback.ts';

/** Returns a free TCP port on 127.0.0.1 for a program that needs a fixed port. No other test gets it while this process runs. */
export async function freePort(): Promise<number> {
  for (;;) {
    const server = createServer();
    const port = await listen(server);
    // Never closed: the program may restart until this process ends.
    const reservation = await reserve(port);
    await new Promise((resolve) => server.close(resolve));
    if (reservation !== undefined) return port;
  }
}
