import { setTimeout as sleep } from 'node:timers/promises';

import { createClient, SocketClosedUnexpectedlyError } from '@redis/client';

const PATIENCE_MS = 300;
const REFUSALS = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE']);

/** Whether nobody serves at that address at this very moment. Silence is no proof: it may be us who cannot be heard. */
export async function isRedisGone(url: string): Promise<boolean> {
  const client = createClient({
    url,
    RESP: 2,
    disableOfflineQueue: true,
    socket: { connectTimeout: PATIENCE_MS, reconnectStrategy: false },
  });
  client.on('error', () => {
    // `connect` rejects with the same.
  });
  const answered = client.connect().then(() => false, isRefusal);
  const gone = await Promise.race([answered, sleep(PATIENCE_MS, false, { ref: false })]);
  client.destroy();
  return gone;
}

function isRefusal(error: unknown): boolean {
  if (error instanceof SocketClosedUnexpectedlyError) return true;
  return error instanceof Error && 'code' in error && REFUSALS.has(String(error.code));
}
