import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

import { createClient, SocketClosedUnexpectedlyError } from '@redis/client';

const TIMEOUT_MS = 300;
/** For the client library. Long, so that it never expires first: after a stall, timers run before the sockets are read. */
const CONNECT_TIMEOUT_MS = 10_000;
const REFUSED_CODES = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE']);

/** Resolves with true only when the address refuses connections now. A timeout proves nothing: this node may be partitioned. */
export async function isRedisDown(url: string): Promise<boolean> {
  const client = createClient({
    url,
    RESP: 2,
    disableOfflineQueue: true,
    socket: { connectTimeout: CONNECT_TIMEOUT_MS, reconnectStrategy: false },
  });
  client.on('error', () => {
    // `connect` rejects with the same error.
  });
  const refused = client.connect().then(() => false, isRefused);
  const isDown = await Promise.race([refused, timeout()]);
  client.destroy();
  return isDown;
}

/** Resolves with false after the timeout, once responses that have already arrived are handled. */
async function timeout(): Promise<false> {
  await sleep(TIMEOUT_MS, undefined, { ref: false });
  await nextTurn();
  await nextTurn();
  return false;
}

function isRefused(error: unknown): boolean {
  if (error instanceof SocketClosedUnexpectedlyError) return true;
  return error instanceof Error && 'code' in error && REFUSED_CODES.has(String(error.code));
}
