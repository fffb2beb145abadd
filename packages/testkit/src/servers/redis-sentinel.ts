import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createCleanup } from '../cleanup.ts';
import { freePort } from '../ports.ts';
import { until } from '../until.ts';
import { command, launchSentinel, startRedis } from './redis.ts';
import type { Redis } from './redis.ts';

/** A primary with a replica, and three sentinels that watch them. */
export interface SentinelSet {
  /** The URL for the service. */
  readonly url: string;
  /** The first one is the primary at the start. */
  readonly servers: readonly Redis[];
  /** The server that the sentinels name. */
  primary(): Promise<Redis>;
  /** Makes the replica the primary, as an operator does. Resolves once the sentinels name it. */
  switchOver(): Promise<void>;
  stop(): Promise<void>;
}

const NAME = 'footbridge';
const SENTINELS = 3;

export async function startSentinels(): Promise<SentinelSet> {
  const cleanup = createCleanup();
  const dir = await mkdtemp(join(tmpdir(), 'footbridge-sentinel-'));
  cleanup.add(() => rm(dir, { recursive: true, force: true }));
  const first = await startRedis();
  cleanup.add(() => first.stop());
  const { port } = new URL(first.url);
  const replica = await startRedis({ settings: ['--replicaof', '127.0.0.1', port] });
  cleanup.add(() => replica.stop());
  const servers = [first, replica];
  const settings = [
    `sentinel monitor ${NAME} 127.0.0.1 ${port} 2`,
    `sentinel down-after-milliseconds ${NAME} 1000`,
    `sentinel failover-timeout ${NAME} 5000`,
  ];
  const ports: number[] = [];
  for (let index = 0; index < SENTINELS; index++) {
    const own = await freePort();
    const sentinel = await launchSentinel(dir, own, settings);
    cleanup.add(() => sentinel.end('SIGKILL'));
    ports.push(own);
  }
  const ask = (own: number, words: string) => command(`redis://127.0.0.1:${own}`, words);
  const isComplete = async (own: number) =>
    /num-slaves\s+\$1\s+1\s/.test(await ask(own, `SENTINEL MASTER ${NAME}`)) &&
    /num-other-sentinels\s+\$1\s+2\s/.test(await ask(own, `SENTINEL MASTER ${NAME}`));
  for (const own of ports)
    await until(() => isComplete(own), { within: 60_000, every: 100, what: 'the sentinels know each other' });

  async function primary(): Promise<Redis> {
    const address = await ask(ports[0] ?? 0, `SENTINEL GET-MASTER-ADDR-BY-NAME ${NAME}`);
    const found = servers.find(({ url }) => address.endsWith(new URL(url).port));
    if (found === undefined) throw new Error(`The sentinels name another server: ${address}`);
    return found;
  }

  return {
    url: `redis+sentinel://${ports.map((own) => `127.0.0.1:${own}`).join(',')}/${NAME}`,
    servers,
    primary,
    async switchOver() {
      const before = await primary();
      await ask(ports[0] ?? 0, `SENTINEL FAILOVER ${NAME}`);
      await until(async () => (await primary()) !== before, { within: 60_000, every: 50 });
    },
    stop: () => cleanup.run(),
  };
}
