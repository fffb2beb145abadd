import { randomUUID } from 'node:crypto';

import type { SendFrame } from '@footbridge/protocol/frames';
import { createCleanup } from '@footbridge/testkit/cleanup';
import type { Mac } from '@footbridge/testkit/mac';
import { hasPostgres } from '@footbridge/testkit/servers/postgres';
import { hasRedis } from '@footbridge/testkit/servers/redis';
import { until } from '@footbridge/testkit/until';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { startCluster } from './cluster.ts';
import type { Cluster } from './cluster.ts';
import { copiedBy } from './copied-by.ts';

const canRun = (await hasRedis()) && (await hasPostgres());

describe.skipIf(!canRun)(
  'frames on a black-holed link of a node that is killed',
  { timeout: 300_000 },
  () => {
    const closing = createCleanup();
    const cleanup = createCleanup();
    let cluster: Cluster;
    beforeAll(async () => {
      cluster = await startCluster(closing, { nodes: 3, env: { RATE_LIMIT_CRM_WEBHOOK: '100000' } });
    }, 300_000);
    afterEach(() => cleanup.run());
    afterAll(async () => {
      const bugs = await cluster.bugs();
      await closing.run();
      expect(bugs).toEqual([]);
    }, 300_000);

    async function mac(index: number, location: string, device: string) {
      const joined = await cluster.mac(index, location, device, { capabilities: ['received'] });
      cleanup.add(() => joined.terminate());
      return joined;
    }

    const sends = ({ frames }: Mac) => frames.filter((frame): frame is SendFrame => frame.type === 'send');

    /** Returns its request id. */
    async function webhook(index: number, location: string, messageId: string): Promise<string> {
      const { status, answer } = await cluster.webhook(index, location, { messageId });
      expect(status).toBe(200);
      return (answer as { requestId: string }).requestId;
    }

    it.each([
      { where: 'a node that has copies of them', restarted: undefined },
      { where: 'a node that was started later', restarted: 1 },
    ])('M10 reach the device at $where, once, in order and before anything newer', async ({ restarted }) => {
      const { crm } = cluster;
      const location = await cluster.location();
      const device = `mac-${randomUUID()}`;
      const first = await mac(0, location, device);
      const { service } = cluster.node(0);
      const before = await copiedBy(service);
      const blackHole = cluster.node(0).macs.add({ type: 'timeout', direction: 'down' });
      // Signs of life keep the node from closing the connection while the test takes its time.
      const life = setInterval(() => first.send({ type: 'sign_of_life' }), 200);
      cleanup.add(() => clearInterval(life));
      const messages = ['a', 'b', 'c', 'd'].map((name) => `${name}-${location}`);
      const ids: string[] = [];
      for (const [index, message] of messages.slice(0, 3).entries())
        ids.push(await webhook(index, location, message));
      await until(async () => (await copiedBy(service)) === before + 3);
      await until(() => messages.slice(0, 3).every((message) => crm.accepted(message).length === 1));
      if (restarted !== undefined) await cluster.node(restarted).service.restart();
      // The link is in doubt: the copy is made before the response, so the node may be killed right after it.
      ids.push(await webhook(2, location, messages[3] ?? ''));
      clearInterval(life);
      await service.kill9();
      expect(sends(first)).toEqual([]);
      const second = await mac(1, location, device);
      const newer = await webhook(2, location, `e-${location}`);
      await until(() => sends(second).length === 5);
      expect(sends(second).map(({ requestId, again }) => [requestId, again ?? false])).toEqual([
        ...ids.map((id) => [id, true]),
        [newer, false],
      ]);
      for (const { requestId, messageId } of sends(second)) {
        second.confirm(requestId);
        await second.ack(second.status({ requestId, messageId, status: 'delivered' }), 60_000);
        // The node may have been killed before it reported the fourth one as pending.
        const told = requestId === ids[3] ? /^(pending )?delivered$/ : /^pending delivered$/;
        expect(crm.accepted(messageId ?? '').join(' ')).toMatch(told);
      }
      blackHole.remove();
      await cluster.startAgain(service);
      // No node repeats what the Mac has confirmed.
      const third = await mac(0, location, device);
      await third.roundTrip();
      expect(sends(third)).toEqual([]);
    });
  },
);
