import { systemClock } from '@footbridge/runtime/clock';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { hasRedis, startRedis } from '@footbridge/testkit/servers/redis';
import { silentLog } from '@footbridge/testkit/silent-log';
import { until } from '@footbridge/testkit/until';
import { createClient } from '@redis/client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { openRedis } from '../../platform/redis/open-redis.ts';
import { createRedisMessageEvents } from './message-events-redis.ts';
import type { EventBatch } from './message-events-redis.ts';
import { messageEventsContract } from './message-events.contract.ts';
import { RecentEvents } from './recent-events.ts';

/** Stands in for the encryption of the nodes, which the composition provides. */
const CIPHER = {
  seal: (batch: EventBatch) => Buffer.from(JSON.stringify(batch)),
  open: (sealed: Buffer) => JSON.parse(sealed.toString()) as EventBatch,
};

describe.skipIf(!(await hasRedis()))('with Redis', () => {
  const cleanup = createCleanup();
  let server: Awaited<ReturnType<typeof startRedis>>;
  let client: ReturnType<typeof createClient>;
  beforeAll(async () => {
    server = await startRedis();
    client = createClient({ url: server.url });
    await client.connect();
  });
  beforeEach(async () => void (await client.flushAll()));
  afterEach(() => cleanup.run());
  afterAll(async () => {
    client.destroy();
    await server.stop();
  });

  async function openNode() {
    const redis = await openRedis({ url: server.url, prefix: 'test:', log: silentLog });
    const local = new RecentEvents('boot');
    const events = createRedisMessageEvents({ redis, local, cipher: CIPHER, clock: systemClock });
    return {
      events,
      happen: (messageId: string) => local.add(0, messageId, 'accepted', { contactId: 'contact-1' }),
      async close() {
        await events.close();
        await redis.close();
      },
    };
  }

  for (const count of [1, 3])
    messageEventsContract(`Redis, ${count} nodes`, async () => {
      const nodes = await Promise.all(Array.from({ length: count }, openNode));
      return { nodes, close: async () => void (await Promise.all(nodes.map((node) => node.close()))) };
    });

  async function followed() {
    const node = await openNode();
    cleanup.add(() => node.close());
    const names: string[] = [];
    await node.events.follow(undefined, (event) => names.push(event === 'gap' ? event : event.messageId));
    return { node, names };
  }

  it('keeps a bounded stream that expires and has no contact ids', async () => {
    const { node, names } = await followed();
    for (let round = 1; round <= 21; round++) {
      for (let count = 0; count < 1000; count++) node.happen(`${round}-${count}`);
      await until(() => names.includes(`${round}-999`));
    }
    expect(await client.xLen('test:events')).toBe(400);
    expect(await client.pTTL('test:events')).toBeGreaterThan(0);
    const entries = await client.xRange('test:events', '-', '+', { COUNT: 1 });
    expect(Buffer.from(entries?.[0]?.message['e'] ?? '', 'base64').toString()).not.toContain('contact-1');
  });

  it('continues after Redis has lost its data', async () => {
    const { node, names } = await followed();
    node.happen('before');
    await until(() => names.includes('before'));
    await client.flushAll();
    node.happen('after');
    await until(() => names.includes('gap'));
    node.happen('later');
    await until(() => names.includes('later'));
  });

  it('reports a gap when a node could not keep all of its events', async () => {
    const { node, names } = await followed();
    for (let count = 0; count < 1500; count++) node.happen(String(count));
    await until(() => names.includes('1499'));
    expect(names[0]).toBe('gap');
    expect(names[1]).toBe('500');
  });
});
