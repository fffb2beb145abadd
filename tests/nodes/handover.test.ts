import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

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
const RECEIVED = { capabilities: ['received'] };
/** By then all nodes know which device has bound a location (M4). */
const KNOWN_AFTER_MS = 2500;

describe.skipIf(!canRun)('unconfirmed frames over several nodes', { timeout: 300_000 }, () => {
  const closing = createCleanup();
  const cleanup = createCleanup();
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster(closing, {
      nodes: 2,
      faultProxies: false,
      env: { RATE_LIMIT_CRM_WEBHOOK: '100000' },
    });
  }, 300_000);
  afterEach(() => cleanup.run());
  afterAll(async () => {
    const bugs = await cluster.bugs();
    await closing.run();
    expect(bugs).toEqual([]);
  }, 300_000);

  async function mac(index: number, locationId: string, deviceId: string) {
    const joined = await cluster.mac(index, locationId, deviceId, RECEIVED);
    cleanup.add(() => joined.terminate());
    return joined;
  }

  const sends = (there: Mac): SendFrame[] =>
    there.frames.filter((frame): frame is SendFrame => frame.type === 'send');

  const idsOf = (there: Mac): string[] => sends(there).map(({ requestId }) => requestId);

  /** Sends webhooks through the other node. Returns their request ids. */
  async function webhooks(count: number, locationId: string, message = 'Hello'): Promise<string[]> {
    const ids: string[] = [];
    for (let index = 0; index < count; index++) {
      const { status, answer } = await cluster.webhook(1, locationId, { message });
      expect(status).toBe(200);
      ids.push((answer as { requestId: string }).requestId);
    }
    return ids;
  }

  it.each(['while the old socket looks alive', 'after the old socket has broken'])(
    'M10 follow the device to another node %s, before anything newer',
    async (when) => {
      const location = await cluster.location();
      const device = `mac-${randomUUID()}`;
      const first = await mac(0, location, device);
      // About 2 MB: more than one message on the bus, and more than a socket buffers.
      const ids = await webhooks(100, location, 'x'.repeat(19_000));
      await until(() => sends(first).length === 100);
      first.confirm(ids[0] ?? '');
      await first.roundTrip();
      if (when === 'after the old socket has broken') {
        first.terminate();
        await until(async () => (await cluster.webhook(1, location)).status === 404, { every: 20 });
      }
      const second = await cluster.mac(1, location, device, RECEIVED);
      cleanup.add(() => second.terminate());
      second.confirmAll();
      for (const frame of sends(second)) second.confirm(frame.requestId);
      const [last = ''] = await webhooks(1, location);
      await until(() => sends(second).some(({ requestId }) => requestId === last));
      // Besides these there may be webhooks that asked whether the old socket is gone.
      const known = new Set([...ids, last]);
      const got = sends(second).map(({ requestId }) => requestId);
      expect(got.filter((id) => known.has(id))).toEqual([...ids.slice(1), last]);
      expect(got.at(-1)).toBe(last);
      // The former node gave them away: back there, nothing comes again.
      await second.roundTrip();
      second.terminate();
      const third = await mac(0, location, device);
      await third.roundTrip();
      expect(sends(third)).toEqual([]);
    },
  );

  it('M10 hold up newer webhooks only until their node has had a second to answer, and no 200 is lost with this one', async () => {
    const location = await cluster.location();
    const device = `mac-${randomUUID()}`;
    const first = await mac(0, location, device);
    const [earlier = ''] = await webhooks(1, location);
    await until(() => sends(first).length === 1);
    const [frozen, killed] = [cluster.node(0).service, cluster.node(1).service];
    frozen.pause();
    const second = await mac(1, location, device);
    const [newer = ''] = await webhooks(1, location);
    await killed.kill9();
    // A 200 means that the frame is on the socket, which outlives the process.
    await until(() => idsOf(second).includes(newer));
    frozen.resume();
    await cluster.startAgain(killed);
    const third = await mac(1, location, device);
    await until(() => idsOf(third).includes(earlier));
  });

  it('M10 arrive in order when their node was frozen, from copies or late', async () => {
    const location = await cluster.location();
    const device = `mac-${randomUUID()}`;
    const first = await mac(0, location, device);
    const ids = await webhooks(3, location);
    await until(() => sends(first).length === 3);
    const { service } = cluster.node(0);
    service.pause();
    const second = await mac(1, location, device);
    const [newer = ''] = await webhooks(1, location);
    await until(() => idsOf(second).includes(newer));
    service.resume();
    await until(() => ids.every((id) => idsOf(second).includes(id)));
    expect([...new Set(idsOf(second))].filter((id) => id !== newer)).toEqual(ids);
    const repeated = sends(second).filter(({ requestId }) => requestId !== newer);
    expect(new Set(repeated.map(({ again }) => again))).toEqual(new Set([true]));
  });

  it('M10 arrive before anything newer while their node is frozen, when there are copies', async () => {
    const location = await cluster.location();
    const device = `mac-${randomUUID()}`;
    await mac(0, location, device);
    const { service } = cluster.node(0);
    const before = await copiedBy(service);
    const ids = await webhooks(3, location);
    await until(async () => (await copiedBy(service)) === before + 3);
    service.pause();
    const second = await mac(1, location, device);
    const [newer = ''] = await webhooks(1, location);
    await until(() => idsOf(second).includes(newer));
    expect(idsOf(second)).toEqual([...ids, newer]);
    service.resume();
  });

  it('A5 a webhook that is repeated right after the device changed nodes adds no status', async () => {
    const location = await cluster.location();
    const { crm } = cluster;
    const device = `mac-${randomUUID()}`;
    for (let round = 0; round < 8; round++) {
      const messageId = `repeated-${location}-${round}`;
      const first = await mac(round % 2, location, device);
      expect((await cluster.webhook(1, location, { messageId })).status).toBe(200);
      const { requestId } = await first.nextFrame('send');
      first.confirm(requestId);
      await until(() => crm.accepted(messageId).length === 1, { every: 1 });
      if (round > 3) await first.ack(first.status({ requestId, messageId, status: 'delivered' }));
      const second = await mac((round + 1) % 2, location, device);
      expect((await cluster.webhook(0, location, { messageId })).status).toBe(200);
      const repeat = await second.nextFrame('send');
      second.confirm(repeat.requestId);
      await second.ack(
        second.status({ requestId: repeat.requestId, messageId, status: 'delivered' }),
        60_000,
      );
      expect(crm.accepted(messageId)).toEqual(['pending', 'delivered']);
    }
  });

  it('A5 a repeat that is rejected while another node has just reported the message adds no status', async () => {
    const location = await cluster.location();
    const { crm } = cluster;
    const first = await mac(0, location, `mac-${randomUUID()}`);
    const messageId = `rejected-${location}`;
    expect((await cluster.webhook(0, location, { messageId })).status).toBe(200);
    const { requestId } = await first.nextFrame('send');
    await first.ack(first.status({ requestId, messageId, status: 'delivered' }));
    expect((await cluster.webhook(1, location, { messageId, phone: 'nonsense' })).status).toBe(400);
    expect(
      (await cluster.webhook(1, location, { messageId: `other-${location}`, phone: 'nonsense' })).status,
    ).toBe(400);
    await until(() => crm.accepted(`other-${location}`).length === 1);
    expect(crm.accepted(messageId)).toEqual(['pending', 'delivered']);
  });

  it('M10 do not follow to another device', async () => {
    const location = await cluster.location();
    const first = await mac(0, location, `mac-${randomUUID()}`);
    await webhooks(3, location);
    await until(() => sends(first).length === 3);
    const other = await mac(1, location, `mac-${randomUUID()}`);
    const [last] = await webhooks(1, location);
    await until(() => sends(other).length > 0);
    expect(sends(other).map(({ requestId }) => requestId)).toEqual([last]);
  });

  it('M4 a delivered message does not follow to another device in any order of nodes, and one in any other state does', async () => {
    const location = await cluster.location();
    const { crm } = cluster;
    const first = await mac(0, location, `mac-${randomUUID()}`);
    const send = (messageId: string, index: number, fields: object = {}) =>
      cluster.webhook(index, location, { messageId, ...fields });
    const ids = ['delivered', 'failed', 'pending', 'rejected'].map((state) => `${state}-${location}`);
    const [delivered = '', failed = '', pending = '', rejected = ''] = ids;
    for (const messageId of [delivered, failed, pending]) {
      expect((await send(messageId, 0)).status).toBe(200);
      const { requestId } = await first.nextFrame('send');
      first.confirm(requestId);
      if (messageId === delivered)
        await first.ack(first.status({ requestId, messageId, status: 'delivered' }), 60_000);
      if (messageId === failed) {
        const error = { code: 'SEND_FAILED', message: 'Not sent' };
        await first.ack(first.status({ requestId, messageId, status: 'failed', error }), 60_000);
      }
    }
    expect((await send(rejected, 0, { phone: 'nonsense' })).status).toBe(400);
    await until(() => crm.accepted(pending).length === 1 && crm.accepted(rejected).length === 1);

    for (const index of [1, 0]) {
      const other = await mac(index, location, `mac-${randomUUID()}`);
      await sleep(KNOWN_AFTER_MS);
      for (const [count, at] of [1, 0].entries()) {
        const { status, answer } = await send(delivered, at);
        expect([status, answer]).toMatchObject([200, { status: 'success', messageId: delivered }]);
        const { answer: last } = await send(`last-${count}-${index}-${location}`, at);
        await until(() => idsOf(other).includes((last as { requestId: string }).requestId));
      }
      expect(sends(other).filter(({ messageId }) => messageId === delivered)).toEqual([]);
    }
    const present = await mac(1, location, `mac-${randomUUID()}`);
    for (const messageId of [failed, pending, rejected]) {
      expect((await send(messageId, 1)).status).toBe(200);
      await until(() => sends(present).some((frame) => frame.messageId === messageId));
    }
    expect(crm.accepted(delivered)).toEqual(['pending', 'delivered']);
  });

  it('M10 are left to another node by one that stops, also for a Mac that is away', async () => {
    const location = await cluster.location();
    const device = `mac-${randomUUID()}`;
    const first = await mac(0, location, device);
    const ids = await webhooks(5, location);
    await until(() => sends(first).length === 5);
    first.pauseReading();
    const { service } = cluster.node(0);
    await service.halt();
    const second = await mac(1, location, device);
    await until(() => sends(second).length === 5);
    expect(sends(second).map(({ requestId, again }) => [requestId, again])).toEqual(
      ids.map((requestId) => [requestId, true]),
    );
    await service.start();
  });
});
