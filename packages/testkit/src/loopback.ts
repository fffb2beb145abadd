import { createSocket } from 'node:dgram';
import type { Socket } from 'node:dgram';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { Server as NetServer } from 'node:net';

/**
 * The kernel assigns ports from the ephemeral range to connections and to other servers. A port below that range is still free
 * when its server restarts. Browsers and fetch block port 10080.
 */
export const CHOSEN_PORTS = { from: 10_100, below: 32_768 };
const MAX_ATTEMPTS = 50;
/** Ports that this process has used. Its HTTP clients may still have a connection to the server that used one before. */
const usedPorts = new Set<number>();

/** Resolves with the port once the server listens. Selects a free port if none is given. Rejects if the given port is in use. */
export async function listen(server: NetServer, port = 0, host = '127.0.0.1'): Promise<number> {
  if (port !== 0) return listenOn(server, port, host);
  for (let attempt = 1; ; attempt++) {
    const selected = randomPort();
    const reservation = await reserve(selected);
    try {
      if (reservation !== undefined) return await listenOn(server, selected, host);
    } catch (error) {
      if (!isInUse(error)) throw error;
    } finally {
      reservation?.close();
    }
    if (attempt === MAX_ATTEMPTS) throw new Error(`none of ${MAX_ATTEMPTS} random ports is free`);
  }
}

/**
 * Reserves a TCP port for a program that starts or restarts later. Tests in other processes must see the reservation, so it is a UDP socket
 * on the same port number. It ends when the socket is closed or this process exits. Resolves with undefined if the port is already reserved.
 */
export async function reserve(port: number): Promise<Socket | undefined> {
  const socket = createSocket('udp4').unref();
  try {
    const bound = once(socket, 'listening');
    socket.bind({ port, address: '127.0.0.1', exclusive: true });
    await bound;
    return socket;
  } catch (error) {
    socket.close();
    if (isInUse(error)) return undefined;
    throw error;
  }
}

const isInUse = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';

function randomPort(): number {
  const { from, below } = CHOSEN_PORTS;
  let port: number;
  do port = from + Math.floor(Math.random() * (below - from));
  while (usedPorts.has(port));
  // By then, the connections to the first servers have ended long ago.
  if (usedPorts.size > (below - from) / 2) usedPorts.clear();
  usedPorts.add(port);
  return port;
}

async function listenOn(server: NetServer, port: number, host: string): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    const listening = () => {
      server.off('error', failed);
      resolve();
    };
    const failed = (error: Error) => {
      server.off('listening', listening);
      reject(error);
    };
    server.once('error', failed).once('listening', listening).listen(port, host);
  });
  return port;
}

/** Closes the server and all its connections, including pending requests. */
export async function closeHttp(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}
