import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createCleanup } from '../cleanup.ts';
import { freePort } from '../ports.ts';
import { until } from '../until.ts';
import { command, launchSentinel, startRedis } from './redis.ts';
import type { Redis } from './redis.ts';

/** Sentinels that watch a primary and its replica. */
export interface Sentinels {
  /** The URL for the service. */
  readonly url: string;
  /** Resolves with the URL of the primary that they name. */
  primary(): Promise<string>;
  /** Makes the replica the primary, as an operator does. Resolves with its URL once they name it. */
  switchOver(): Promise<string>;
  stop(): Promise<void>;
}

export interface SentinelSet extends Omit<Sentinels, 'primary'> {
  /** The first one is the primary at the start. */
  readonly servers: readonly Redis[];
  primary(): Promise<Redis>;
}

const NAME = 'footbridge';

/** Starts a primary, a replica and three sentinels. */
export async function startSentinels(): Promise<SentinelSet> {
  const cleanup = createCleanup();
  const first = await startRedis();
  cleanup.add(() => first.stop());
  const replica = await startReplica(first);
  cleanup.add(() => replica.stop());
  const sentinels = await startSentinelsOf(first);
  cleanup.add(() => sentinels.stop());
  const servers = [first, replica];
  return {
    ...sentinels,
    servers,
    async primary() {
      const named = await sentinels.primary();
      const found = servers.find(({ url }) => url === named);
      if (found === undefined) throw new Error(`The sentinels name another server: ${named}`);
      return found;
    },
    stop: () => cleanup.run(),
  };
}

/** Starts a replica and waits until it is in sync. */
export async function startReplica(primary: Redis): Promise<Redis> {
  const replica = await startRedis();
  // A command, not configuration: configuration would make it a replica again when it restarts after a failover.
  await replica.command(`REPLICAOF 127.0.0.1 ${new URL(primary.url).port}`);
  const isOnline = new RegExp(`port=${new URL(replica.url).port},state=online`);
  await until(async () => isOnline.test(await primary.command('INFO replication')), {
    within: 60_000,
    every: 50,
    what: 'the replica has the data',
  });
  return replica;
}

/** Starts sentinels for a primary that has a replica. They elect another primary after a second. */
export async function startSentinelsOf(primary: Redis, count = 3): Promise<Sentinels> {
  const cleanup = createCleanup();
  const dir = await mkdtemp(join(tmpdir(), 'footbridge-sentinel-'));
  cleanup.add(() => rm(dir, { recursive: true, force: true }));
  const settings = [
    `sentinel monitor ${NAME} 127.0.0.1 ${new URL(primary.url).port} ${Math.ceil((count + 1) / 2)}`,
    `sentinel down-after-milliseconds ${NAME} 1000`,
    `sentinel failover-timeout ${NAME} 5000`,
  ];
  const urls: string[] = [];
  for (let index = 0; index < count; index++) {
    const port = await freePort();
    const sentinel = await launchSentinel(dir, port, settings);
    cleanup.add(() => sentinel.end('SIGKILL'));
    urls.push(`redis://127.0.0.1:${port}`);
  }
  const ask = (words: string, url = urls[0] ?? '') => command(url, `SENTINEL ${words}`);
  const knowsAll = async (url: string) => {
    const known = await ask(`MASTER ${NAME}`, url);
    const hasCount = (field: string, number: number) =>
      new RegExp(`${field}\\s+\\$\\d+\\s+${number}\\s`).test(known);
    return hasCount('num-slaves', 1) && hasCount('num-other-sentinels', count - 1);
  };
  for (const url of urls)
    await until(() => knowsAll(url), { within: 60_000, every: 100, what: 'the sentinels know each other' });

  async function named(): Promise<string> {
    const address = await ask(`GET-MASTER-ADDR-BY-NAME ${NAME}`);
    return `redis://127.0.0.1:${address.split(/\s+/).at(-1)}`;
  }

  return {
    url: `redis+sentinel://${urls.map((url) => new URL(url).host).join(',')}/${NAME}`,
    primary: named,
    async switchOver() {
      const before = await named();
      await ask(`FAILOVER ${NAME}`);
      return until(
        async () => {
          const now = await named();
          return now === before ? undefined : now;
        },
        { within: 60_000, every: 50, what: 'the sentinels name the other one' },
      );
    },
    stop: () => cleanup.run(),
  };
}
