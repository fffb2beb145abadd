import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import type { RegisterFrame } from '@footbridge/protocol/frames';
import { startCrm } from '@footbridge/testkit/crm';
import { crmEnv } from '@footbridge/testkit/crm-env';
import type { Crm } from '@footbridge/testkit/crm';
import { startFaultProxy } from '@footbridge/testkit/fault-proxy';
import type { FaultProxy } from '@footbridge/testkit/fault-proxy';
import { activate, connectMac } from '@footbridge/testkit/mac';
import type { Mac } from '@footbridge/testkit/mac';
import { startPostgres } from '@footbridge/testkit/servers/postgres';
import type { Postgres } from '@footbridge/testkit/servers/postgres';
import type { Redis, RedisOptions } from '@footbridge/testkit/servers/redis';
import { startService } from '@footbridge/testkit/service';
import type { Service } from '@footbridge/testkit/service';
import type { Cleanup } from '@footbridge/testkit/cleanup';

import { startMovableRedis } from './movable-redis.ts';
import type { FailoverWay, MovableRedis } from './movable-redis.ts';

/** One process of the service, with fault proxies of its own to each server and from the Macs. */
export interface Node {
  readonly service: Service;
  readonly redis: FaultProxy;
  readonly postgres: FaultProxy;
  readonly macs: FaultProxy;
}

/** Several real nodes over one Redis, one PostgreSQL and one CRM. */
export interface Cluster {
  readonly crm: Crm;
  readonly redis: MovableRedis;
  readonly postgres: Postgres;
  /** The URL of the nodes' database. */
  readonly database: string;
  readonly nodes: readonly Node[];
  readonly license: { readonly id: string; readonly key: string };
  node(index: number): Node;
  /** Fails Redis over. The address that the nodes use leads to the new primary after so long. */
  failOver(way: FailoverWay, addressMs?: number): Promise<void>;
  /** Log lines that report a bug, and nodes that exited by themselves. */
  bugs(): Promise<string[]>;
  /** As a supervisor does: until it is up. */
  startAgain(service: Service): Promise<void>;
  /** A new location, with a token at the CRM and a contact. */
  location(): Promise<string>;
  /** A Mac of that location on that node; the same device when it is named again. */
  mac(
    index: number,
    locationId: string,
    deviceId?: string,
    registration?: Partial<RegisterFrame>,
  ): Promise<Mac>;
  /** A webhook for that location, at that node. */
  webhook(
    index: number,
    locationId: string,
    fields?: Record<string, unknown>,
  ): ReturnType<Crm['sendWebhook']>;
}

export interface ClusterOptions {
  readonly nodes: number;
  /** The path of the program. Default: the service of this checkout. */
  readonly main?: string;
  readonly env?: Record<string, string>;
  /** The settings of one node. */
  readonly envOf?: (index: number) => Record<string, string>;
  /** A Redis that is there already, with the URL for the nodes. They talk to it directly. */
  readonly redis?: { readonly server: Redis; readonly url: string };
  readonly redisOptions?: RedisOptions;
  /** Without them the nodes talk to the servers directly: the event loop of the test then adds no delay of its own. */
  readonly faultProxies?: boolean;
  /** By how many seconds the clock of each node is wrong. */
  readonly skewSec?: readonly number[];
}

const BUG = 'bug: please report this line';
/** A node may be frozen for a while; a Mac that hangs up meanwhile leaves a registration behind. */
const REGISTER_MS = 60_000;
const START_TRIES = 20;
const START_AGAIN_MS = 500;

export async function startCluster(
  cleanup: Cleanup,
  {
    nodes: count,
    main,
    env = {},
    envOf = () => ({}),
    redis: given,
    redisOptions = {},
    skewSec = [],
    faultProxies = true,
  }: ClusterOptions,
): Promise<Cluster> {
  const [crm, redis, postgres] = await Promise.all([
    startCrm(),
    given === undefined
      ? startMovableRedis(cleanup, redisOptions)
      : { ...given.server, prepareReplica: notOurs, failOver: notOurs },
    startPostgres(),
  ]);
  cleanup.add(() => crm.stop());
  cleanup.add(() => postgres.stop());
  crm.settings.rateLimit = null;
  const database = await postgres.createDatabase();
  const shared = {
    LOG_LEVEL: 'info',
    HOST: '127.0.0.1',
    ...crmEnv(crm),
    CRM_OAUTH_REFRESH_THRESHOLD_SEC: '60',
    RATE_LIMIT_OAUTH_CALLBACK: '10000',
    RATE_LIMIT_HEALTH: '10000',
    RATE_LIMIT_CRM_CALLS: '100000',
    CRM_SETTLE_SEC: '2',
    CRM_READ_LAG_SEC: '1',
    ...env,
  };
  const start = async (index: number): Promise<Node> => {
    const toRedis =
      faultProxies && given === undefined ? await startFaultProxy({ to: redis.url }) : undefined;
    const toPostgres = faultProxies ? await startFaultProxy({ to: database }) : undefined;
    cleanup.add(() => Promise.all([toRedis?.stop(), toPostgres?.stop()]));
    const service = await startService({
      env: {
        ...shared,
        ...wrongClock(skewSec[index] ?? 0),
        REDIS_URL: given?.url ?? toRedis?.url(redis.url) ?? redis.url,
        DATABASE_URL: toPostgres?.url(database) ?? database,
        ...envOf(index),
      },
      readyWithin: 60_000,
      ...(main !== undefined && { main }),
    });
    cleanup.add(() => service.stop());
    const fromMacs = faultProxies ? await startFaultProxy({ to: service.url }) : undefined;
    cleanup.add(() => fromMacs?.stop());
    return {
      service,
      get macs() {
        return required(fromMacs);
      },
      get redis() {
        return required(toRedis);
      },
      get postgres() {
        return required(toPostgres);
      },
    };
  };
  // The first one makes the tables.
  const nodes = [await start(0)];
  nodes.push(...(await Promise.all(Array.from({ length: count - 1 }, (_, index) => start(index + 1)))));
  const [first] = nodes;
  if (first === undefined) throw new Error('a cluster needs a node');
  const license = await first.service.license(1000);
  const tokens = new Map<string, string>();
  const contacts = new Map<string, string>();
  const node = (index: number): Node => nodes[index] ?? first;

  return {
    crm,
    redis,
    postgres,
    database,
    nodes,
    license,
    node,
    async failOver(way, addressMs = 0) {
      const url = await redis.failOver(way);
      await sleep(addressMs);
      for (const { redis: line } of nodes) line.redirect(url);
    },
    async bugs() {
      const ends = await Promise.all(nodes.map(({ service }) => endOf(service)));
      const said = nodes.flatMap(({ service }) => service.logs.filter(({ msg }) => msg === BUG));
      return [...said.map((line) => JSON.stringify(line)), ...ends.flat()];
    },
    async startAgain(service) {
      for (let tries = 1; ; tries++) {
        try {
          return await service.start();
        } catch (error) {
          // Redis or PostgreSQL may be away at this very moment.
          if (tries === START_TRIES) throw error;
          await sleep(START_AGAIN_MS);
        }
      }
    },
    async location() {
      const locationId = `loc${randomUUID().replaceAll('-', '')}`;
      const code = crm.install({ locationId });
      const answer = await fetch(`${first.service.url}/oauth/callback/crm?code=${encodeURIComponent(code)}`);
      if (!answer.ok) throw new Error(`no token: ${answer.status} ${await answer.text()}`);
      contacts.set(locationId, crm.addContact({ locationId, phone: '+15555550100' }).id);
      return locationId;
    },
    async mac(index, locationId, deviceId = `mac-${randomUUID()}`, registration = {}) {
      const { url } = node(index).service;
      const token =
        tokens.get(deviceId) ?? (await activate(url, { licenseKey: license.key, deviceId })).deviceToken;
      if (token === undefined) throw new Error('not activated');
      tokens.set(deviceId, token);
      const mac = await connectMac(faultProxies ? node(index).macs.url(url) : url, { token });
      try {
        await mac.register(locationId, registration).catch((error: unknown) => {
          if (!mac.isOpen) throw error;
          return mac.nextFrame('registered', REGISTER_MS);
        });
        return mac;
      } catch (error) {
        mac.terminate();
        throw error;
      }
    },
    webhook: (index, locationId, fields = {}) =>
      crm.sendWebhook(
        {
          locationId,
          contactId: contacts.get(locationId) ?? 'c1',
          phone: '+15555550100',
          message: 'Hello',
          ...fields,
        },
        { url: node(index).service.url },
      ),
  };
}

async function notOurs(): Promise<never> {
  throw new Error('this Redis belongs to the caller');
}

function required(proxy: FaultProxy | undefined): FaultProxy {
  if (proxy === undefined) throw new Error('these nodes have no fault proxies');
  return proxy;
}

/** How a node ended that should be running. */
async function endOf(service: Service): Promise<string[]> {
  const end = await Promise.race([service.exited, sleep(0)]);
  return end === undefined ? [] : [`a node ended by itself: ${end.code ?? end.signal}`];
}

/** Wall clock only: timers and the monotonic clock of a machine do not care what time it believes it is. */
function wrongClock(seconds: number): Record<string, string> {
  if (seconds === 0) return {};
  const code = `const right = Date.now; Date.now = () => right() + ${seconds * 1000};`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
}
