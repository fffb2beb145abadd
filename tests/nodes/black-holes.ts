import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import process from 'node:process';
import { parseArgs } from 'node:util';

import { startAgent } from '@footbridge/testkit/agent';
import type { Agent } from '@footbridge/testkit/agent';
import { createCleanup } from '@footbridge/testkit/cleanup';
import type { Cleanup } from '@footbridge/testkit/cleanup';
import { startCrm } from '@footbridge/testkit/crm';
import type { Crm } from '@footbridge/testkit/crm';
import { crmEnv } from '@footbridge/testkit/crm-env';
import { startFaultProxy } from '@footbridge/testkit/fault-proxy';
import type { FaultProxy } from '@footbridge/testkit/fault-proxy';
import { seeded } from '@footbridge/testkit/seeded';
import { startService } from '@footbridge/testkit/service';

import { judgeLink } from './black-holes/judge-link.ts';
import type { LinkScore, Webhook } from './black-holes/judge-link.ts';
import { startBalancer } from './campaign/balancer.ts';
import { startCluster } from './cluster.ts';

export interface BlackHoleOptions {
  /** How often each length is run. */
  readonly times: number;
  readonly seconds: readonly number[];
  /** Webhooks per second and link. */
  readonly rate: number;
  readonly nodes: number;
  /** Links that run side by side, each with a location and an agent of its own. */
  readonly links: number;
  readonly seed: number;
}

const HELP = `Lets the network between the service and Macs swallow everything for a while, and compares what both sides have.

  node scripts/run.mjs tests/nodes/black-holes.ts [options]

  --times N        black holes of each length (default 20)
  --seconds N,…    their lengths (default 5,25,60)
  --rate N         webhooks per second and link (default 20)
  --nodes N        1: SQLite and no Redis; more: PostgreSQL and Redis (default 1)
  --links N        links side by side, each with a location and the real agent program (default 10)
  --seed N         order of the lengths, and the nodes that are called (default 1)
  --help

The exit code is 0 when every webhook that got 200 was sent once, in order, and reported as delivered, and no other was sent.

Example
  node scripts/run.mjs tests/nodes/black-holes.ts --times 20 --seconds 5,25,60 --rate 20 --nodes 2 --seed 7
`;

const PHONE = '+15555550100';
const BEFORE_MS = 1000;
const AFTER_MS = 2000;
const REPORT_PAUSE_MS = 5000;
/** An agent that waited longer between its attempts to connect would only make the run longer. */
const AGENT_ENV = { FOOTBRIDGE_BACKOFF_CAP_SEC: '2' };

interface Bridge {
  readonly crm: Crm;
  readonly urls: readonly string[];
  readonly licenseKey: string;
}

/** Runs all black holes. Resolves with the score of each link. */
export async function runBlackHoles(cleanup: Cleanup, options: BlackHoleOptions): Promise<LinkScore[]> {
  const random = seeded(options.seed);
  const bridge = options.nodes === 1 ? await startOne(cleanup) : await startSeveral(cleanup, options.nodes);
  const { seconds, times } = options;
  const lengths = seconds
    .flatMap((length) => Array.from({ length: times }, () => ({ length, order: random() })))
    .sort((one, other) => one.order - other.order)
    .map(({ length }) => length);
  const byLink = distribute(lengths, options.links);
  const links = await Promise.all(byLink.map(() => Link.start(cleanup, bridge, options.rate, random)));
  await Promise.all(
    links.map(async (link, index) => {
      for (const length of byLink[index] ?? []) await link.fallSilent(length);
    }),
  );
  await allReported(bridge.crm, links);
  const statuses = statusesByMessage(bridge.crm);
  return Promise.all(links.map((link) => link.score((messageId) => statuses.get(messageId) ?? [])));
}

/** Resolves when the CRM has `delivered` for every webhook that got 200, or when none of them comes any more. */
async function allReported(crm: Crm, links: readonly Link[]): Promise<void> {
  const accepted = links.flatMap((link) => link.accepted);
  for (let [missing, before] = [Infinity, Infinity]; missing > 0; before = missing) {
    await sleep(REPORT_PAUSE_MS);
    const statuses = statusesByMessage(crm);
    missing = accepted.filter((id) => statuses.get(id)?.includes('delivered') !== true).length;
    if (missing === before) return;
  }
}

/** The accepted statuses in order. One pass over all of them: this process is the CRM, too. */
function statusesByMessage(crm: Crm): ReadonlyMap<string, string[]> {
  const accepted = crm.statuses
    .filter((call) => call.accepted)
    .sort((one, other) => (one.acceptedAs ?? 0) - (other.acceptedAs ?? 0));
  const byMessage = new Map<string, string[]>();
  for (const { messageId, status } of accepted)
    byMessage.set(messageId, [...(byMessage.get(messageId) ?? []), status]);
  return byMessage;
}

/** Gives each link about the same number of seconds. */
function distribute(lengths: readonly number[], links: number): number[][] {
  const byLink = Array.from({ length: Math.min(links, lengths.length) }, () => [] as number[]);
  const sumOf = (all: readonly number[]) => all.reduce((sum, length) => sum + length, 0);
  for (const length of lengths.toSorted((one, other) => other - one))
    byLink.toSorted((one, other) => sumOf(one) - sumOf(other))[0]?.push(length);
  return byLink;
}

async function startOne(cleanup: Cleanup): Promise<Bridge> {
  const crm = await startCrm();
  cleanup.add(() => crm.stop());
  crm.settings.rateLimit = null;
  const service = await startService({
    env: { ...crmEnv(crm), ...UNLIMITED, CRM_OAUTH_REFRESH_THRESHOLD_SEC: '60' },
  });
  cleanup.add(() => service.stop());
  const { key } = await service.license(1000);
  return { crm, urls: [service.url], licenseKey: key };
}

async function startSeveral(cleanup: Cleanup, nodes: number): Promise<Bridge> {
  const { crm, license, ...cluster } = await startCluster(cleanup, {
    nodes,
    faultProxies: false,
    env: UNLIMITED,
  });
  return { crm, urls: cluster.nodes.map(({ service }) => service.url), licenseKey: license.key };
}

const UNLIMITED = {
  RATE_LIMIT_CRM_WEBHOOK: '1000000',
  RATE_LIMIT_CRM_CALLS: '1000000',
  RATE_LIMIT_OAUTH_CALLBACK: '10000',
};

/** A location whose Mac is reached over a network that can fail. */
class Link {
  readonly #locationId: string;
  readonly #bridge: Bridge;
  readonly #proxy: FaultProxy;
  readonly #agent: Agent;
  readonly #rate: number;
  readonly #random: () => number;
  readonly #webhooks: Webhook[] = [];

  constructor(
    locationId: string,
    bridge: Bridge,
    proxy: FaultProxy,
    agent: Agent,
    rate: number,
    random: () => number,
  ) {
    this.#locationId = locationId;
    this.#bridge = bridge;
    this.#proxy = proxy;
    this.#agent = agent;
    this.#rate = rate;
    this.#random = random;
  }

  static async start(cleanup: Cleanup, bridge: Bridge, rate: number, random: () => number): Promise<Link> {
    const location = `loc${randomUUID().replaceAll('-', '')}`;
    const { crm, urls, licenseKey } = bridge;
    const code = encodeURIComponent(crm.install({ locationId: location }));
    const response = await fetch(`${urls[0]}/oauth/callback/crm?code=${code}`);
    if (!response.ok) throw new Error(`no token: ${response.status} ${await response.text()}`);
    const proxy = await startFaultProxy({ to: (await startBalancer(cleanup, urls, random)).url });
    cleanup.add(() => proxy.stop());
    const url = proxy.url(urls[0] ?? '');
    const agent = await startAgent({ url, license: licenseKey, location, env: AGENT_ENV });
    cleanup.add(() => agent.stop());
    await agent.registered();
    return new Link(location, bridge, proxy, agent, rate, random);
  }

  /** Sends webhooks before, during and after a black hole, until the agent is back. */
  async fallSilent(seconds: number): Promise<void> {
    let isOver = false;
    const sending = this.#sendUntil(() => isOver);
    await sleep(BEFORE_MS);
    const toxic = this.#proxy.add({ type: 'timeout' });
    await sleep(seconds * 1000);
    const registered = this.#agent.logsNext('registered');
    toxic.remove();
    await registered;
    await sleep(AFTER_MS);
    isOver = true;
    await sending;
  }

  /** The message ids of the webhooks that got 200. */
  get accepted(): string[] {
    return this.#webhooks.filter(({ status }) => status === 200).map(({ messageId }) => messageId);
  }

  async score(statusesOf: (messageId: string) => readonly string[]): Promise<LinkScore> {
    const { chats } = await this.#agent.simulatorState();
    const sentTexts = chats.flatMap(({ messages }) => messages).map(({ text }) => text);
    return judgeLink(this.#webhooks, sentTexts, statusesOf);
  }

  /** At a fixed rate, whether or not the earlier ones are answered. */
  async #sendUntil(isOver: () => boolean): Promise<void> {
    const all: Promise<void>[] = [];
    for (let due = performance.now(); !isOver(); due += 1000 / this.#rate) {
      all.push(this.#send());
      await sleep(Math.max(0, due - performance.now()));
    }
    await Promise.all(all);
  }

  async #send(): Promise<void> {
    const { crm, urls } = this.#bridge;
    const messageId = randomUUID();
    const askedAt = performance.now();
    const url = urls[Math.floor(this.#random() * urls.length)] ?? '';
    const { status } = await crm.sendWebhook(
      { locationId: this.#locationId, phone: PHONE, message: messageId, messageId },
      { url },
    );
    this.#webhooks.push({ messageId, status, askedAt, answeredAt: performance.now() });
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      times: { type: 'string', default: '20' },
      seconds: { type: 'string', default: '5,25,60' },
      rate: { type: 'string', default: '20' },
      nodes: { type: 'string', default: '1' },
      links: { type: 'string', default: '10' },
      seed: { type: 'string', default: '1' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    process.exit(0);
  }
  const cleanup = createCleanup();
  const options = {
    times: Number(values.times),
    seconds: values.seconds.split(',').map(Number),
    rate: Number(values.rate),
    nodes: Number(values.nodes),
    links: Number(values.links),
    seed: Number(values.seed),
  };
  let scores: LinkScore[];
  try {
    scores = await runBlackHoles(cleanup, options);
  } finally {
    await cleanup.run();
  }
  const sumOf = (count: (score: LinkScore) => number) => scores.reduce((sum, score) => sum + count(score), 0);
  const violations = scores.flatMap((score) => score.violations);
  process.stdout.write(
    `webhooks=${sumOf(({ webhooks }) => webhooks)} accepted=${sumOf(({ accepted }) => accepted)} unavailable=${sumOf(({ unavailable }) => unavailable)} violations=${violations.length}\n`,
  );
  for (const violation of violations.slice(0, 100)) process.stdout.write(`${violation}\n`);
  process.exit(violations.length === 0 ? 0 : 1);
}
