import { createClient } from '@redis/client';

import { parseSentinels } from './redis-address.ts';

const TIMEOUT_MS = 1000;
const RECONNECT_MS = 500;
/** A sentinel that does not respond for so long is connected to again: a network that drops packets reports no error. */
const SILENT_MS = 4000;

export interface Primary {
  readonly url: string;
  /** Grows with every failover that sentinels make. */
  readonly epoch: number;
}

export interface PrimaryFinder {
  /** Resolves with the server to connect to now. Rejects when no sentinel names one. */
  find(): Promise<Primary>;
  close(): void;
}

/** Finds the Redis at a URL, or the primary that sentinels name. */
export function primaryFinder(url: string): PrimaryFinder {
  const sentinels = parseSentinels(url);
  if (sentinels === undefined) return { find: async () => ({ url, epoch: 0 }), close: () => {} };
  const { name, primaryAt } = sentinels;
  const clients = sentinels.urls.map(openSentinel);

  async function ask(client: Sentinel): Promise<Primary> {
    const [address, known] = await Promise.all([
      client.sendCommand<[host: string, port: string] | null>(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name]),
      client.sendCommand<string[]>(['SENTINEL', 'MASTER', name]),
    ]);
    if (address === null) throw new Error(`the sentinel does not know ${name}`);
    return { url: primaryAt(...address), epoch: Number(known[known.indexOf('config-epoch') + 1]) };
  }

  return {
    /** A sentinel that was cut off during a failover names the former primary: the newest response counts. */
    async find() {
      const results = await Promise.allSettled(clients.map(ask));
      const primaries = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
      const newest = primaries.toSorted((one, other) => other.epoch - one.epoch)[0];
      if (newest !== undefined) return newest;
      const reasons = results.map((result) => (result.status === 'rejected' ? result.reason : undefined));
      throw new Error('no sentinel names a primary', { cause: new AggregateError(reasons) });
    },
    close() {
      for (const client of clients) client.destroy();
    },
  };
}

type Sentinel = ReturnType<typeof openSentinel>;

/** Reconnects by itself. Commands wait for the connection. */
function openSentinel(url: string) {
  const client = createClient({
    url,
    RESP: 2,
    commandOptions: { timeout: TIMEOUT_MS },
    pingInterval: TIMEOUT_MS,
    socket: {
      connectTimeout: TIMEOUT_MS,
      socketTimeout: SILENT_MS,
      reconnectStrategy: () => RECONNECT_MS * (0.5 + Math.random() / 2),
    },
  });
  client.on('error', () => {
    // The commands reject with the same error.
  });
  client.connect().catch(() => {
    // Closed.
  });
  return client;
}
