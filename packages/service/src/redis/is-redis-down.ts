import { setTimeout as sleep } from 'node:timers/promises';

import { createClient, SocketClosedUnexpectedlyError } from '@redis/client';

const CONNECT_TIMEOUT_MS = 300;
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
  const isDown = await Promise.race([refused, sleep(CONNECT_TIMEOUT_MS, false, { ref: false })]);
  client.destroy();
  return isDown;
}

function isRefused(error: unknown): boolean {
  if (error instanceof SocketClosedUnexpectedlyError) return true;
  return error instanceof Error && 'code' in error && REFUSED_CODES.has(String(error.code));
}
