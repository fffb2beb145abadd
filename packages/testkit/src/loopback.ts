import type { Server } from 'node:http';
import type { Server as NetServer } from 'node:net';
import { portOf } from './ports.ts';

/** Resolves to the port once the server listens. Rejects if the port is in use. */
export async function listen(server: NetServer, port = 0, host = '127.0.0.1'): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return portOf(server);
}

/** Closes the server and all its connections, including pending requests. */
export async function closeHttp(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}
