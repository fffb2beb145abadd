// What faults of Redis do to 40 webhooks a second (npm run siege has the same rows): node scripts/run.mjs tests/nodes/redis-faults.ts [--only TEXT] [--seed 1]
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { createCleanup } from '@footbridge/testkit/cleanup';
import type { Cleanup } from '@footbridge/testkit/cleanup';
import { seeded } from '@footbridge/testkit/seeded';
import { hasPostgres } from '@footbridge/testkit/servers/postgres';
import { hasRedis } from '@footbridge/testkit/servers/redis';
import { startSentinels } from '@footbridge/testkit/servers/redis-sentinel';
import { canStepClocks } from '@footbridge/testkit/servers/stepped-clock';
import { until } from '@footbridge/testkit/until';

import { startCluster } from './cluster.ts';
import type { Cluster, ClusterOptions } from './cluster.ts';
import type { FailoverWay } from './movable-redis.ts';
import { health } from './outage.ts';
import { ReconnectingMac } from './reconnecting-mac.ts';
import { sendUntilTaken } from './send-until-taken.ts';
import type { Sent } from './send-until-taken.ts';

/** A response of `/health`. */
interface Sample {
  readonly at: number;
  readonly until: number;
  readonly isGood: boolean;
}

interface Stage {
  readonly cluster: Cluster;
  readonly macs: readonly ReconnectingMac[];
}

/** Starts the nodes, and returns what happens to Redis. It resolves when Redis is usable again, at its address. */
type RedisFault = (cleanup: Cleanup) => Promise<{
  readonly options?: Partial<ClusterOptions>;
  readonly prepare?: (stage: Stage) => Promise<void>;
  readonly happen: (stage: Stage) => Promise<void>;
  /** Whether Redis accepts no writes until then. */
  readonly isRed?: true;
}>;

export interface RedisFaultReport {
  /** First attempts. */
  readonly webhooks: number;
  readonly accepted: number;
  /** 503: the CRM sends them again. */
  readonly unavailable: number;
  /** 404 for a Mac that was connected all the time. */
  readonly notFound: number;
  /** Everything else, also lost connections. */
  readonly others: readonly (number | string)[];
  /** Lines of nodes that call themselves a bug, and nodes that ended by themselves. */
  readonly bugs: readonly string[];
  /** `failed`, told to the CRM for such a Mac. */
  readonly failed: number;
  /** Not delivered in the end, or not once. */
  readonly undelivered: number;
  /** Macs that lost their connection. */
  readonly reconnected: number;
  /** From the fault to the last first attempt that was not accepted. */
  readonly backMs: number;
  /** How long `/health` of a node was good while Redis accepted no writes, and how long it was bad afterwards. */
  readonly greenWhileRedMs: number;
  readonly redAfterMs: number;
}

const NODES = 3;
const MACS = 12;
const PER_SEC = 40;
const BEFORE_MS = 3000;
/** Longer than a lease, so that what was not renewed has expired. */
const AFTER_MS = 13_000;
const SAMPLE_MS = 100;
/** The address of Redis leads to the former primary for so long. */
const ADDRESS_MS = 2000;
const RED_MS = 4000;
const EXPECTED: ReadonlySet<number | string> = new Set([200, 404, 503]);
const MAX_BACK_MS = 5000;
/** A health check waits for Redis for a second at most. */
const NOTICED_MS = 1500;

const failedOver =
  (way: FailoverWay): RedisFault =>
  async () => ({
    isRed: true,
    prepare: ({ cluster }) => cluster.redis.prepareReplica(),
    happen: ({ cluster }) => cluster.failOver(way, ADDRESS_MS),
  });

const steppedBy =
  (seconds: number): RedisFault =>
  async () => ({
    options: { redisOptions: { steppedClock: true } },
    happen: async ({ cluster }) => cluster.redis.stepClock(seconds),
  });

const watchedBySentinels =
  (happen: (set: Awaited<ReturnType<typeof startSentinels>>) => Promise<unknown>): RedisFault =>
  async (cleanup) => {
    const set = await startSentinels();
    cleanup.add(() => set.stop());
    const [server] = set.servers;
    if (server === undefined) throw new Error('no Redis');
    return {
      options: { redis: { server, url: set.url } },
      happen: async () => void (await happen(set)),
    };
  };

const SERVER_FAULTS: Readonly<Record<string, RedisFault>> = {
  REPLICAOF: failedOver('REPLICAOF'),
  FAILOVER: failedOver('FAILOVER'),
  'Sentinel switch': watchedBySentinels((set) => set.switchOver()),
  'Sentinel, the primary killed': watchedBySentinels(async (set) => {
    const before = await set.primary();
    await before.kill();
    await until(async () => (await set.primary()) !== before, { within: 60_000, every: 50 });
  }),
  full: async () => ({
    isRed: true,
    async happen({ cluster, macs }) {
      await cluster.redis.command('CONFIG SET maxmemory 1');
      // A Mac that reconnects meanwhile is not kept out.
      macs[0]?.drop();
      await sleep(RED_MS);
      await cluster.redis.command('CONFIG SET maxmemory 0');
    },
  }),
  flushed: async () => ({ happen: ({ cluster }) => cluster.redis.flush() }),
};

const CLOCK_FAULTS: Readonly<Record<string, RedisFault>> = {
  'its clock set forward by an hour': steppedBy(3600),
  'its clock set back by an hour': steppedBy(-3600),
};

export const REDIS_FAULTS: Readonly<Record<string, RedisFault>> = {
  ...SERVER_FAULTS,
  ...((await canStepClocks()) && CLOCK_FAULTS),
};

/** Sends webhooks to random nodes before, during and after the fault. */
export async function runRedisFault(
  name: string,
  { seed = 1, afterMs = AFTER_MS } = {},
): Promise<RedisFaultReport> {
  const fault = REDIS_FAULTS[name];
  if (fault === undefined) throw new Error(`no such fault: ${name}`);
  const cleanup = createCleanup();
  try {
    const { options, prepare, happen, isRed = false } = await fault(cleanup);
    const env = { RATE_LIMIT_CRM_WEBHOOK: '1000000', RATE_LIMIT_MAC_SOCKET: '1000000' };
    const cluster = await startCluster(cleanup, { nodes: NODES, env, ...options });
    const macs = await connectMacs(cleanup, cluster, seed);
    await prepare?.({ cluster, macs });
    return await measure({ cluster, macs }, happen, { isRed, seed, afterMs });
  } finally {
    await cleanup.run();
  }
}

async function connectMacs(cleanup: Cleanup, cluster: Cluster, seed: number): Promise<ReconnectingMac[]> {
  const macs = await Promise.all(
    Array.from({ length: MACS }, async (_, index) => {
      const locationId = await cluster.location();
      return new ReconnectingMac(cluster, locationId, seeded(seed + index), true);
    }),
  );
  const lives = macs.map((mac) => mac.live());
  cleanup.add(async () => {
    for (const mac of macs) mac.stop();
    await Promise.all(lives);
  });
  await until(() => macs.every(({ bindings }) => bindings.length > 0), { within: 60_000, every: 20 });
  // Since when Redis has its data: before, a missing lease would prove nothing.
  await sleep(4000);
  return macs;
}

async function measure(
  { cluster, macs }: Stage,
  happen: (stage: Stage) => Promise<void>,
  { isRed, seed, afterMs }: { readonly isRed: boolean; readonly seed: number; readonly afterMs: number },
): Promise<RedisFaultReport> {
  const random = seeded(seed);
  const stopped = new AbortController();
  const samples = cluster.nodes.map(() => [] as Sample[]);
  const sampling = cluster.nodes.map(async ({ service }, node) => {
    while (!stopped.signal.aborted) {
      const at = performance.now();
      const isGood = (await health(service).catch(() => 0)) === 200;
      samples[node]?.push({ at, until: performance.now(), isGood });
      await sleep(SAMPLE_MS);
    }
  });
  const sent: Promise<Sent>[] = [];
  const sending = (async () => {
    for (let index = 0, due = performance.now(); !stopped.signal.aborted; index++, due += 1000 / PER_SEC) {
      const { locationId = '' } = macs[index % macs.length] ?? {};
      const giveUp = () => false;
      sent.push(
        sendUntilTaken(cluster, locationId, `text ${index}`, `m-${seed}-${index}`, { random, giveUp }),
      );
      await sleep(Math.max(0, due - performance.now()));
    }
  })();
  await sleep(BEFORE_MS);
  const from = performance.now();
  await happen({ cluster, macs });
  const to = performance.now();
  await sleep(afterMs);
  stopped.abort();
  await Promise.all([sending, ...sampling]);
  const all = await Promise.all(sent);
  const isDelivered = ({ messageId }: Sent) => {
    const statuses = cluster.crm.accepted(messageId);
    return statuses.filter((status) => status === 'delivered').length === 1;
  };
  await until(() => all.every(isDelivered), { within: 30_000, every: 200 }).catch(() => undefined);

  const first = all.flatMap(({ attempts }) => attempts.slice(0, 1));
  const responses = all.flatMap(({ attempts }) => attempts);
  const moved = new Set(
    macs.filter(({ bindings }) => bindings.length > 1).map(({ locationId }) => locationId),
  );
  const ofConnected = all.filter(({ locationId }) => !moved.has(locationId));
  const refusedAt = first.filter(({ status }) => status !== 200).map(({ askedAt }) => askedAt);
  const longest = (isWrong: (sample: Sample) => boolean) =>
    Math.max(...samples.map((ofNode) => ofNode.filter(isWrong).length * SAMPLE_MS));
  const lastRed = Math.max(
    to,
    ...samples.flatMap((ofNode) => ofNode.filter(({ isGood }) => !isGood).map(({ at }) => at)),
  );
  return {
    webhooks: first.length,
    accepted: first.filter(({ status }) => status === 200).length,
    unavailable: first.filter(({ status }) => status === 503).length,
    notFound: ofConnected.flatMap(({ attempts }) => attempts).filter(({ status }) => status === 404).length,
    others: [...new Set(responses.map(({ status }) => status))].filter((one) => !EXPECTED.has(one)),
    bugs: await cluster.bugs(),
    failed: ofConnected.filter(({ messageId }) => cluster.crm.accepted(messageId).includes('failed')).length,
    undelivered: all.filter((message) => !isDelivered(message)).length,
    reconnected: moved.size,
    backMs: Math.max(0, ...refusedAt.map((at) => at - from)),
    greenWhileRedMs: isRed ? longest((one) => one.isGood && one.at > from + NOTICED_MS && one.until < to) : 0,
    redAfterMs: lastRed - to,
  };
}

/** Returns what missed the target. */
export function missed(report: RedisFaultReport): string[] {
  const zero = ['notFound', 'failed', 'undelivered', 'greenWhileRedMs'] as const;
  return [
    ...report.others.map((status) => `${status}`),
    ...report.bugs,
    ...zero.filter((name) => report[name] > 0).map((name) => `${name} ${report[name]}`),
    ...(report.backMs > MAX_BACK_MS ? [`back after ${Math.round(report.backMs)} ms`] : []),
    ...(report.redAfterMs > MAX_BACK_MS ? [`red for ${Math.round(report.redAfterMs)} ms`] : []),
  ];
}

/** Returns the figures of a report in words. */
export const figuresOf = (report: RedisFaultReport): string =>
  [
    `${report.accepted} of ${report.webhooks} at once`,
    `${report.unavailable} × 503`,
    `${report.notFound} × 404`,
    `${report.failed} × failed`,
    `${report.undelivered} undelivered`,
    `${report.reconnected} Macs reconnected`,
    `back after ${(report.backMs / 1000).toFixed(1)} s`,
    `health good for ${report.greenWhileRedMs} ms while it was red, bad for ${Math.round(report.redAfterMs)} ms afterwards`,
  ].join(', ');

if (import.meta.main) {
  const { values } = parseArgs({
    options: { only: { type: 'string', default: '' }, seed: { type: 'string', default: '1' } },
  });
  if (!(await hasRedis()) || !(await hasPostgres())) {
    process.stderr.write(
      'Redis or PostgreSQL was not found; CONTRIBUTING.md explains how to provide them.\n',
    );
    process.exit(2);
  }
  let failures = 0;
  for (const name of Object.keys(REDIS_FAULTS).filter((one) => one.includes(values.only))) {
    const report = await runRedisFault(name, { seed: Number(values.seed) });
    const faults = missed(report);
    if (faults.length > 0) failures++;
    const result = faults.length === 0 ? 'held' : `MISSED: ${faults.join(', ')}`;
    process.stdout.write(`Redis: ${name}: ${figuresOf(report)}: ${result}\n`);
  }
  process.exit(failures === 0 ? 0 : 1);
}
