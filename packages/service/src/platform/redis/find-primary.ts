import { createClient } from '@redis/client';

import { parseSentinels } from './redis-address.ts';
import type { Sentinels } from './redis-address.ts';

/** For each sentinel: one that does not respond delays a connection by as much. */
const TIMEOUT_MS = 1000;

interface Answer {
  readonly url: string;
  /** Grows with every failover. */
  readonly epoch: number;
}

/**
 * Returns a function that resolves with the URL to connect to now: the one that was given, or that of the primary that the sentinels name.
 * It rejects when no sentinel names one.
 */
export function primaryFinder(url: string): () => Promise<string> {
  const sentinels = parseSentinels(url);
  return sentinels === undefined ? async () => url : () => askAll(sentinels);
}

/** A sentinel that was cut off during a failover names the former primary: the newest answer counts. */
async function askAll(sentinels: Sentinels): Promise<string> {
  const results = await Promise.allSettled(sentinels.urls.map((url) => ask(url, sentinels)));
  const answers = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const newest = answers.toSorted((one, other) => other.epoch - one.epoch)[0];
  if (newest !== undefined) return newest.url;
  const reasons = results.map((result) => (result.status === 'rejected' ? result.reason : undefined));
  throw new Error('no sentinel names a primary', { cause: new AggregateError(reasons) });
}

async function ask(url: string, { name, primaryAt }: Sentinels): Promise<Answer> {
  const client = createClient({
    url,
    RESP: 2,
    commandOptions: { timeout: TIMEOUT_MS },
    socket: { connectTimeout: TIMEOUT_MS, reconnectStrategy: false },
  });
  client.on('error', () => {
    // The commands reject with the same error.
  });
  const timer = setTimeout(() => client.destroy(), TIMEOUT_MS);
  try {
    await client.connect();
    const [address, primary] = await Promise.all([
      client.sendCommand<[host: string, port: string] | null>(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name]),
      client.sendCommand<string[]>(['SENTINEL', 'MASTER', name]),
    ]);
    if (address === null) throw new Error(`the sentinel does not know ${name}`);
    return { url: primaryAt(...address), epoch: Number(primary[primary.indexOf('config-epoch') + 1]) };
  } finally {
    clearTimeout(timer);
    client.destroy();
  }
}
