import { hasRedis, startRedis } from '@footbridge/testkit/servers/redis';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { silentLog } from '@footbridge/testkit/silent-log';
import { until } from '@footbridge/testkit/until';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openRedis } from '../redis/open-redis.ts';
import { createRedisBroadcast } from './broadcast-redis.ts';
import type { BroadcastMessage } from './broadcast-redis.ts';

/** Stands in for the encryption of the nodes, which the composition provides. */
const cipherOf = (secret: string) => ({
  seal: (message: BroadcastMessage) => Buffer.from(`${secret} ${btoa(JSON.stringify(message))}`),
  open(sealed: Buffer) {
    const [key, message = ''] = sealed.toString().split(' ');
    return key === secret ? (JSON.parse(atob(message)) as BroadcastMessage) : undefined;
  },
});

describe.skipIf(!(await hasRedis()))('broadcast: Redis', () => {
  const cleanup = createCleanup();
  let url: string;
  beforeAll(async () => {
    const server = await startRedis();
    cleanup.add(() => server.stop());
    ({ url } = server);
  });
  afterAll(() => cleanup.run());

  async function openNode(node: string, secret = 'ours') {
    const redis = await openRedis({ url, prefix: 'test:', log: silentLog });
    cleanup.add(() => redis.close());
    const broadcast = await createRedisBroadcast({
      redis,
      cipher: cipherOf(secret),
      node,
      log: silentLog,
    });
    const heard: unknown[] = [];
    const stop = broadcast.listen('captured', (content) => heard.push(content));
    return { redis, broadcast, heard, stop };
  }

  it('M10 reaches every other node of the same secret once, and not the sender', async () => {
    const [one, two, three] = await Promise.all([openNode('1'), openNode('2'), openNode('3')]);
    const foreign = await openNode('4', 'theirs');
    three.stop();
    one.broadcast.publish('captured', { text: 'first' });
    one.broadcast.publish('captured', { text: 'second' });
    await until(() => two.heard.length === 2);
    // Redis delivers to all subscribers in the order of publishing: what follows has overtaken nothing.
    two.broadcast.publish('captured', 'last');
    await until(() => one.heard.length === 1);
    expect(two.heard).toEqual([{ text: 'first' }, { text: 'second' }]);
    expect(one.heard).toEqual(['last']);
    expect(three.heard).toEqual([]);
    expect(foreign.heard).toEqual([]);
  });

  it('T42 publishes only what the cipher has sealed', async () => {
    const node = await openNode('5');
    const seen: Buffer[] = [];
    await node.redis.subscribe('broadcast', (sealed) => seen.push(sealed));
    node.broadcast.publish('captured', 'CANARY');
    await until(() => seen.length > 0);
    expect(Buffer.concat(seen).includes('CANARY')).toBe(false);
  });
});
