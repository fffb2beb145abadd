import { randomUUID } from 'node:crypto';

import type { Crm, SentWebhook } from '@footbridge/testkit/crm';
import { createCleanup } from '@footbridge/testkit/cleanup';
import type { Mac } from '@footbridge/testkit/mac';
import type { Service } from '@footbridge/testkit/service';
import { until } from '@footbridge/testkit/until';
import { afterAll, beforeAll, describe, expect } from 'vitest';

import { startCluster } from './cluster.ts';
import type { Cluster } from './cluster.ts';

export const SENDER = '+15555550100';

/** Two nodes that all tests of the file share. No test may leave a bug in their logs. */
export function twoNodes(env: Record<string, string> = {}): () => Cluster {
  const closing = createCleanup();
  let cluster: Cluster | undefined;
  beforeAll(async () => {
    cluster = await startCluster(closing, { nodes: 2, env });
  }, 300_000);
  afterAll(async () => {
    const bugs = await cluster?.bugs();
    await closing.run();
    expect(bugs).toEqual([]);
  }, 300_000);
  return () => cluster ?? expect.fail('the nodes are not running');
}

export const health = async ({ url }: Service): Promise<number> => (await fetch(`${url}/health`)).status;

export async function readiness({ operatorUrl }: Service): Promise<Record<string, number | string>> {
  const answer = await fetch(`${operatorUrl}/readyz`);
  const { status, checks } = JSON.parse(await answer.text()) as {
    status: string;
    checks?: Record<string, string>;
  };
  return { http: answer.status, status, ...checks };
}

export const healed = (service: Service): Promise<unknown> =>
  until(async () => (await health(service)) === 200, { within: 60_000, every: 200, what: 'health' });

/** The texts that the CRM has from the Macs of this location, in order. */
export const textsIn = (crm: Crm, locationId: string): unknown[] =>
  crm.messages.filter((one) => one.locationId === locationId).map(({ message }) => message);

/** A message of a customer. It has a GUID, so that a Mac can send it again. */
export const fromCustomer = (text: string) => ({
  sender: SENDER,
  text,
  guid: randomUUID().toUpperCase(),
});

/** A location and its Mac at node 0. */
export interface Scene {
  readonly locationId: string;
  readonly deviceId: string;
  readonly mac: Mac;
}

export interface Break {
  /** Prepares the location and its Mac. Default: `settled`. */
  readonly prepare?: (cluster: Cluster) => Promise<Scene>;
  /** Takes the dependency away. Returns how to bring it back. */
  readonly away: (scene: Scene) => Promise<() => unknown>;
  /** Sends webhooks while it is away; one of them must reach the Mac. Returns them by name. */
  readonly webhooks: (locationId: string) => Promise<Record<string, SentWebhook>>;
  /** Resolves when the outage has had its effect on the messages; only then is the state during it read. */
  readonly felt: (scene: Scene & { messageId: string }) => Promise<unknown>;
  /** The service sends the Mac away, which then connects to the other node. Without it the Mac must stay connected. */
  readonly macMoves?: true;
}

/** The state while a dependency was away, and after it had come back. */
export interface Outage {
  readonly webhooks: Record<string, SentWebhook>;
  /** The inbound messages of the location in the CRM, and the acknowledgement of the one sent during the outage. */
  readonly inbound: { during: number; after: number; outcome: string };
  /** The statuses that the CRM accepted for the message on its way. */
  readonly statuses: { during: readonly string[]; after: readonly string[] };
  /** `/health` and `/readyz` of node 0. */
  readonly health: { during: number; ready: unknown; after: unknown };
}

/** A suite about one dependency: the outage happens once, before the tests, which assert what it did. */
export function outage(
  name: string,
  cluster: () => Cluster,
  how: Break,
  tests: (seen: () => Outage) => void,
): void {
  describe(name, () => {
    let seen: Outage | undefined;
    beforeAll(async () => {
      seen = await goThrough(cluster(), how);
    }, 300_000);
    tests(() => seen ?? expect.fail('the outage did not end'));
  });
}

async function goThrough(cluster: Cluster, { prepare = settled, ...how }: Break): Promise<Outage> {
  const { crm } = cluster;
  const { service } = cluster.node(0);
  const scene = await prepare(cluster);
  const { locationId, deviceId, mac } = scene;

  const comeBack = await how.away(scene);
  const webhooks = await how.webhooks(locationId);
  const { requestId, messageId } = await mac.nextFrame('send', 60_000);
  const delivered = { requestId, messageId, status: 'delivered' as const };
  const message = fromCustomer('held');
  const seqs = [mac.received(message), mac.status(delivered)];
  await how.felt({ ...scene, messageId: messageId ?? '' });
  const during = {
    inbound: textsIn(crm, locationId).length,
    statuses: crm.accepted(messageId ?? ''),
    health: { during: await health(service), ready: await readiness(service) },
  };

  await comeBack();
  for (const node of cluster.nodes) await healed(node.service);
  expect(mac.isOpen).toBe(how.macMoves === undefined);
  const there = mac.isOpen ? mac : await cluster.mac(1, locationId, deviceId);
  const [inbound = 0, status = 0] = mac.isOpen ? seqs : [there.received(message), there.status(delivered)];
  const { outcome } = await there.ack(inbound, 60_000);
  await there.ack(status, 60_000);
  there.terminate();
  return {
    webhooks,
    inbound: { during: during.inbound, after: textsIn(crm, locationId).length, outcome },
    statuses: { during: during.statuses, after: crm.accepted(messageId ?? '') },
    health: { ...during.health, after: await readiness(service) },
  };
}

/** A location with a Mac at node 0, and everything a running node has in memory by then. */
export async function settled(cluster: Cluster): Promise<Scene> {
  const locationId = await cluster.location();
  const deviceId = `mac-${randomUUID()}`;
  const mac = await cluster.mac(0, locationId, deviceId);
  await mac.ack(mac.received({ sender: SENDER, text: 'before' }), 60_000);
  expect((await cluster.webhook(0, locationId)).status).toBe(200);
  const { requestId, messageId } = await mac.nextFrame('send', 60_000);
  await mac.ack(mac.status({ requestId, messageId, status: 'delivered' }), 60_000);
  return { locationId, deviceId, mac };
}
