import { createCleanup } from '@footbridge/testkit/cleanup';
import { hasPostgres } from '@footbridge/testkit/servers/postgres';
import { hasRedis } from '@footbridge/testkit/servers/redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { FLAWLESS } from './campaign/score.ts';
import type { Cluster } from './cluster.ts';
import { CURRENT_MAIN } from './last-release.ts';
import { unexpectedResponses } from './load-balancer.ts';
import { findOvertaken, startLastRelease, upgradeUnderLoad } from './rolling-upgrade.ts';

const canRun = (await hasRedis()) && (await hasPostgres());

describe.skipIf(!canRun)('a rolling upgrade from the last release', () => {
  const closing = createCleanup();
  let cluster: Cluster;
  let lastMain: string;
  beforeAll(async () => {
    cluster = await startLastRelease(closing, 2);
    lastMain = cluster.node(0).service.main;
  }, 300_000);
  afterAll(() => closing.run(), 300_000);

  const migrations = () =>
    cluster.postgres.execute(cluster.database, 'select name from kysely_migration order by name');

  it('I6 under load in both directions loses and duplicates nothing, keeps the order and returns only 200, 404 and 503', async () => {
    const before = await migrations();
    let mixed: unknown[] = [];
    const report = await upgradeUnderLoad(cluster, {
      pace: { outbound: 50, inbound: 20 },
      macs: 4,
      seed: 7,
      calmMs: 1500,
      async whileMixed() {
        mixed = await migrations();
      },
    });
    // The new node changes the tables while the old one runs.
    expect(mixed.length).toBeGreaterThan(before.length);
    expect(report).toMatchObject({
      violations: FLAWLESS,
      evidence: [],
      overtaken: [],
      bugs: [],
      exitCodes: [0, 0],
    });
    expect(unexpectedResponses(report)).toEqual([]);
    expect(report.takenByOldNodes).toBeGreaterThan(0);
    expect(report.inbound).toBeGreaterThan(0);
  }, 300_000);

  it('a node of the last release does not start again on the newer tables, and changes nothing', async () => {
    const { service } = cluster.node(1);
    await service.halt();
    service.main = lastMain;
    const before = await migrations();
    await expect(service.start()).rejects.toThrow(/Exited \(1\) before "ready"/);
    expect(service.logs.map(({ msg }) => msg).join('\n')).toMatch(/the database cannot be used/);
    expect(await migrations()).toEqual(before);
    service.main = CURRENT_MAIN;
    await service.start();
    const locationId = await cluster.location();
    const mac = await cluster.mac(0, locationId);
    expect(await cluster.webhook(1, locationId)).toMatchObject({ status: 200 });
    mac.terminate();
  }, 300_000);

  it('T62 nodes keep the names in Redis of the last release until all were stopped once', async () => {
    const services = cluster.nodes.map(({ service }) => service);
    const early = services.map(({ logs }) =>
      logs.some(({ event }) => event === 'redis.names_of_earlier_version'),
    );
    expect(early).toEqual([true, true]);
    await Promise.all(services.map((service) => service.halt()));
    await cluster.redis.flush();
    await Promise.all(services.map((service) => service.start()));
    const locationId = await cluster.location();
    const mac = await cluster.mac(0, locationId);
    expect(await cluster.webhook(1, locationId)).toMatchObject({ status: 200 });
    mac.terminate();
    expect(await cluster.redis.command('KEYS footbridge:*')).toBe('*0');
    expect(await cluster.redis.command('KEYS fb:*')).not.toBe('*0');
  }, 300_000);
});

it('finds a message that was overtaken by a newer one', () => {
  const message = (messageId: string, askedAt: number) => ({
    messageId,
    locationId: 'l1',
    text: messageId,
    attempts: [{ askedAt, answeredAt: askedAt + 5, status: 200, requestId: `r-${messageId}` }],
  });
  const sent = [message('a', 0), message('b', 3), message('c', 10)];
  const binding = {
    device: 'd1',
    askedAt: 0,
    boundAt: 0,
    droppedAt: Infinity,
    nodeKilledAt: Infinity,
    aloneSince: Infinity,
  };
  const heard = (...ids: string[]) => [
    {
      heard: ids.map((messageId) => ({
        messageId,
        requestId: `r-${messageId}`,
        binding,
        again: false,
        at: 0,
      })),
    },
  ];
  expect(findOvertaken(sent, heard('b', 'a', 'c'))).toEqual([]);
  expect(findOvertaken(sent, heard('a', 'c', 'b'))).toEqual(['b']);
});
