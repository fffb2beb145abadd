import { createCleanup } from '@footbridge/testkit/cleanup';
import type { Mac } from '@footbridge/testkit/mac';
import { hasPostgres } from '@footbridge/testkit/servers/postgres';
import { hasRedis } from '@footbridge/testkit/servers/redis';
import type { Service } from '@footbridge/testkit/service';
import { until } from '@footbridge/testkit/until';
import { createClient } from '@redis/client';
import { afterEach, describe, expect, it } from 'vitest';

import { startCluster } from './cluster.ts';
import type { Cluster } from './cluster.ts';
import { startMovableRedis } from './movable-redis.ts';

const canRun = (await hasRedis()) && (await hasPostgres());

/** Sends a webhook, and resolves with the texts that the Mac got. */
async function texts(cluster: Cluster, node: number, locationId: string, mac: Mac): Promise<string[]> {
  const message = `to node ${node}`;
  expect((await cluster.webhook(node, locationId, { message })).status).toBe(200);
  await mac.nextFrame('send', 60_000);
  return mac.frames.flatMap((frame) => (frame.type === 'send' ? [frame.message ?? ''] : []));
}

const rejectedMessages = ({ logs }: Service) =>
  logs.filter(({ event }) => event === 'switchboard.bus_message_rejected');

async function openIssues(service: Service): Promise<string[]> {
  const { body } = await service.operator('GET', '/operator/issues');
  const { issues } = body as { issues: { kind: string; sentence: string; closedAt: string | null }[] };
  return issues
    .filter(({ closedAt }) => closedAt === null)
    .map(({ kind, sentence }) => `${kind}: ${sentence}`);
}

describe.skipIf(!canRun)('several installations on one Redis', { timeout: 300_000 }, () => {
  const cleanup = createCleanup();
  afterEach(() => cleanup.run(), 300_000);

  it('T62 neither hear nor displace each other, also with the same location, on the same and on other database numbers', async () => {
    const server = await startMovableRedis(cleanup);
    const installations = await Promise.all(
      [0, 0, 3].map((database) =>
        startCluster(cleanup, {
          nodes: 2,
          faultProxies: false,
          redis: { server, url: `${server.url}/${database}` },
        }),
      ),
    );
    const macs = await Promise.all(installations.map((one) => one.mac(0, 'locOfAll0001', 'mac-of-all')));
    for (const [index, one] of installations.entries()) {
      const mac = macs[index];
      if (mac === undefined) throw new Error('no Mac');
      expect(await texts(one, 1, 'locOfAll0001', mac)).toEqual(['to node 1']);
    }
    expect(macs.map(({ isOpen }) => isOpen)).toEqual([true, true, true]);
    expect(
      installations.flatMap(({ nodes }) => nodes.flatMap(({ service }) => rejectedMessages(service))),
    ).toEqual([]);

    const client = createClient({ url: server.url });
    await client.connect();
    const names = [...(await client.keys('*')), ...(await client.pubSubChannels())];
    client.destroy();
    const prefixes = new Set(names.map((name) => /^fb:[\w-]{8}:/.exec(name)?.[0]));
    // The keys of the third installation have another number; its channels do not.
    expect(prefixes.size).toBe(3);
    expect(prefixes).not.toContain(undefined);
  });

  it('T62 a node with a wrong NODE_SECRET displaces no Mac, and all nodes show why they do not find each other', async () => {
    const cluster = await startCluster(cleanup, {
      nodes: 2,
      faultProxies: false,
      envOf: (index): Record<string, string> =>
        index === 0 ? {} : { NODE_SECRET: 'another secret than the others' },
    });
    const locationId = await cluster.location();
    const mac = await cluster.mac(0, locationId);
    const other = await cluster.mac(1, locationId);
    expect(await texts(cluster, 0, locationId, mac)).toEqual(['to node 0']);
    expect([mac.isOpen, other.isOpen]).toEqual([true, true]);
    for (const { service } of cluster.nodes)
      await until(
        async () =>
          (await openIssues(service)).some((issue) =>
            /^nodes_separate: .* different values of NODE_SECRET/.test(issue),
          ),
        { within: 60_000, every: 500, what: 'the issue' },
      );
    expect(cluster.nodes.flatMap(({ service }) => rejectedMessages(service))).toEqual([]);
  });
});
