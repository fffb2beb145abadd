// Events about the app in random order, repeated, over kill -9: node scripts/run.mjs tests/nodes/app-events.ts [--events 1000] [--kills 10] [--seed 1]
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { createCleanup } from '@footbridge/testkit/cleanup';
import { seeded } from '@footbridge/testkit/seeded';
import { until } from '@footbridge/testkit/until';

import { startCluster } from './cluster.ts';
import type { Cluster } from './cluster.ts';

export interface AppEventsOptions {
  readonly events: number;
  readonly kills: number;
  readonly seed: number;
}

export interface AppEventsReport {
  readonly events: number;
  readonly requests: number;
  /** By owner: the state that it has, and the one that it must have. */
  readonly wrong: Readonly<Record<string, readonly [string | undefined, string]>>;
}

interface AppEvent {
  readonly type: 'INSTALL' | 'UNINSTALL';
  readonly companyId: string;
  readonly locationId?: string;
  readonly at: number;
}

const COMPANIES = 5;
const LOCATIONS_EACH = 12;
const AT_ONCE = 8;
const SEND_AGAIN_MS = 200;

/** Sends the events of a few companies to two nodes while one is killed now and then, and compares the grants with the newest events. */
export async function appEvents(options: AppEventsOptions): Promise<AppEventsReport> {
  const cleanup = createCleanup();
  try {
    const cluster = await startCluster(cleanup, {
      nodes: 2,
      faultProxies: false,
      env: { RATE_LIMIT_OPERATOR: '100000' },
    });
    return await run(cluster, options);
  } finally {
    await cleanup.run();
  }
}

async function run(
  cluster: Cluster,
  { events: count, kills, seed }: AppEventsOptions,
): Promise<AppEventsReport> {
  const random = seeded(seed);
  const companies = Array.from({ length: COMPANIES }, (_, index) => `company${seed}x${index}`);
  for (const companyId of companies) {
    const locations = Array.from({ length: LOCATIONS_EACH }, (_, index) => `${companyId}loc${index}`);
    await authorise(cluster, cluster.crm.install({ companyId, locations }));
  }
  // Later than the authorisations, and in the past when they are sent.
  const startAt = Date.now() + 1500;
  const events = Array.from({ length: count }, (_, index) => newEvent(companies, random, startAt + index));
  await sleep(1500 + count);

  const requests = shuffled([...events, ...events.filter(() => random() < 0.5)], random);
  let sent = 0;
  const queue = [...requests];
  const worker = async () => {
    for (let event = queue.shift(); event !== undefined; event = queue.shift()) {
      await sendUntilAccepted(cluster, event, random);
      sent++;
    }
  };
  const workers = Array.from({ length: AT_ONCE }, worker);
  for (let kill = 1; kill <= kills; kill++) {
    await until(() => sent >= (requests.length * kill) / (kills + 1), { within: 300_000, every: 10 });
    const { service } = cluster.node(kill % 2);
    await service.kill9();
    await cluster.startAgain(service);
  }
  await Promise.all(workers);

  const expected = finalStates(companies, events);
  const wrong = async () => {
    const states = await grantStates(cluster);
    return Object.entries(expected).filter(([owner, state]) => states[owner] !== state);
  };
  // Tokens are requested in the background, and after a kill once a minute.
  await until(async () => (await wrong()).length === 0, { within: 150_000, every: 1000 }).catch(() => {});
  const states = await grantStates(cluster);
  return {
    events: count,
    requests: requests.length,
    wrong: Object.fromEntries((await wrong()).map(([owner, state]) => [owner, [states[owner], state]])),
  };
}

function newEvent(companies: readonly string[], random: () => number, at: number): AppEvent {
  const companyId = companies[Math.floor(random() * companies.length)] ?? '';
  const type = random() < 0.5 ? 'INSTALL' : 'UNINSTALL';
  // The last company keeps its grant, so that some locations end with a token.
  if (random() < 0.01 && companyId !== companies.at(-1)) return { type: 'UNINSTALL', companyId, at };
  return { type, companyId, locationId: `${companyId}loc${Math.floor(random() * LOCATIONS_EACH)}`, at };
}

/** What the newest event of each owner leaves behind. */
function finalStates(companies: readonly string[], events: readonly AppEvent[]): Record<string, string> {
  const states: Record<string, string> = {};
  const authorised = new Set(companies);
  for (const companyId of companies)
    for (let index = 0; index < LOCATIONS_EACH; index++) states[`${companyId}loc${index}`] = 'active';
  for (const { type, companyId, locationId } of events) {
    if (locationId === undefined) {
      authorised.delete(companyId);
      for (const owner of Object.keys(states))
        if (owner.startsWith(`${companyId}loc`)) states[owner] = 'uninstalled';
    } else if (type === 'UNINSTALL') states[locationId] = 'uninstalled';
    else if (states[locationId] === 'uninstalled') states[locationId] = 'expected';
  }
  for (const [owner, state] of Object.entries(states))
    if (state === 'expected' && authorised.has(owner.split('loc')[0] ?? '')) states[owner] = 'active';
  return states;
}

async function sendUntilAccepted(cluster: Cluster, event: AppEvent, random: () => number): Promise<void> {
  const { at, ...fields } = event;
  for (;;) {
    const { url } = cluster.node(Math.floor(random() * 2)).service;
    const body = { ...fields, timestamp: new Date(at).toISOString() };
    const { status } = await cluster.crm.sendAppEvent(body, { url });
    if (status === 200) return;
    await sleep(SEND_AGAIN_MS);
  }
}

async function authorise(cluster: Cluster, code: string): Promise<void> {
  const { url } = cluster.node(0).service;
  const response = await fetch(`${url}/oauth/callback/crm?code=${encodeURIComponent(code)}`);
  if (!response.ok) throw new Error(`not authorised: ${response.status} ${await response.text()}`);
}

async function grantStates(cluster: Cluster): Promise<Record<string, string>> {
  const { body } = await cluster.node(0).service.operator('GET', '/operator/grants');
  const { grants } = body as { grants: { ownerId: string; state: string }[] };
  return Object.fromEntries(grants.map(({ ownerId, state }) => [ownerId, state]));
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  return items
    .map((item) => ({ item, key: random() }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      events: { type: 'string', default: '1000' },
      kills: { type: 'string', default: '10' },
      seed: { type: 'string', default: '1' },
    },
  });
  const report = await appEvents({
    events: Number(values.events),
    kills: Number(values.kills),
    seed: Number(values.seed),
  });
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  process.exitCode = Object.keys(report.wrong).length === 0 ? 0 : 1;
}
