import { randomUUID } from 'node:crypto';

import { CLOSE } from '@footbridge/protocol/close-codes';
import { hasPostgres } from '@footbridge/testkit/servers/postgres';
import { hasRedis } from '@footbridge/testkit/servers/redis';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { fromCustomer, healed, health, textsIn, twoNodes } from './outage.ts';

const canRun = (await hasRedis()) && (await hasPostgres());

describe.skipIf(!canRun)('two nodes while a server fails', { timeout: 300_000 }, () => {
  const cluster = twoNodes();
  const cleanup = createCleanup();
  afterEach(async () => {
    await cleanup.run();
    // The next test begins with both nodes connected to Redis again.
    for (const { service } of cluster().nodes)
      await until(async () => (await fetch(`${service.operatorUrl}/readyz`)).ok, {
        within: 60_000,
        every: 100,
        what: 'the node is ready',
      });
  });
  async function mac(index: number, locationId: string, deviceId?: string) {
    const joined = await cluster().mac(index, locationId, deviceId);
    cleanup.add(() => joined.terminate());
    return joined;
  }
  const served = (index: number, location: string) =>
    until(async () => (await cluster().webhook(index, location)).status === 200, {
      within: 60_000,
      every: 200,
      what: 'the location is served',
    });

  it('M1 Redis flushed: the Mac keeps its socket and is served again', async () => {
    const location = await cluster().location();
    const there = await mac(1, location);
    await cluster().redis.flush();
    await served(0, location);
    expect(there.isOpen).toBe(true);
  });

  it('M1 Redis restarted: the Mac keeps its socket and is served again, health recovers', async () => {
    const location = await cluster().location();
    const there = await mac(1, location);
    await cluster().redis.restart();
    await served(0, location);
    expect(there.isOpen).toBe(true);
    await healed(cluster().node(0).service);
  });

  it('M1 a node cut off from Redis lets its Macs go, answers 503, holds what they send, and recovers', async () => {
    const { crm } = cluster();
    const location = await cluster().location();
    const device = `mac-${randomUUID()}`;
    const cutOff = await mac(1, location, device);
    const gap = cluster().node(1).redis.add({ type: 'timeout' });
    cleanup.add(() => gap.remove());
    // The node writes to no Mac, not even to its own: another Mac may own the location by now.
    expect((await cluster().webhook(1, location)).status).toBe(503);
    cutOff.received(fromCustomer('held'));
    expect(await cutOff.closed).toMatchObject({ code: CLOSE.goingAway });
    expect(textsIn(crm, location)).toEqual([]);
    expect((await cluster().webhook(1, location)).status).toBe(503);
    expect(await health(cluster().node(1).service)).toBe(503);
    const elsewhere = await mac(0, location, device);
    await served(0, location);
    await elsewhere.nextFrame('send', 60_000);
    gap.remove();
    await served(1, location);
    await healed(cluster().node(1).service);
  });

  it('M1 a node cut off from Redis sends nothing to a Mac that was displaced elsewhere meanwhile', async () => {
    const location = await cluster().location();
    const old = await mac(1, location);
    const gap = cluster().node(1).redis.add({ type: 'timeout' });
    cleanup.add(() => gap.remove());
    const young = await mac(0, location);
    const answers = await Promise.all([1, 1, 0, 0].map((index) => cluster().webhook(index, location)));
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 200, 200]);
    await old.closed;
    expect(old.frames.filter(({ type }) => type === 'send')).toEqual([]);
    expect(young.frames.filter(({ type }) => type === 'send')).toHaveLength(2);
  });

  it('M1 two Macs, the notice lost: the CRM hears nothing of the older after the newer', async () => {
    const { crm } = cluster();
    const location = await cluster().location();
    const old = await mac(1, location);
    const seq = old.received(fromCustomer('old 1'));
    await old.ack(seq, 60_000);
    // Nothing that Redis says reaches the node of the first Mac: neither the notice nor an answer.
    const deaf = cluster().node(1).redis.add({ type: 'timeout', direction: 'down' });
    cleanup.add(() => deaf.remove());
    const young = await mac(0, location);
    const next = young.received(fromCustomer('new 1'));
    await young.ack(next, 60_000);
    if (old.isOpen) old.received(fromCustomer('old 2'));
    await old.closed;
    deaf.remove();
    const last = young.received(fromCustomer('new 2'));
    await young.ack(last, 60_000);
    expect(textsIn(crm, location)).toEqual(['old 1', 'new 1', 'new 2']);
  });

  it('I6 PostgreSQL restarted under load: nothing is lost and nothing doubled', async () => {
    const { crm } = cluster();
    const location = await cluster().location();
    const there = await mac(0, location);
    const seqs = Array.from({ length: 20 }, (_, chat) =>
      there.received({
        sender: '+15555550100',
        text: `text ${chat}`,
        chat: { id: chat, isGroup: false, recipients: ['+15555550100'] },
      }),
    );
    await cluster().postgres.restart();
    for (const seq of seqs) expect(await there.ack(seq, 60_000)).toMatchObject({ outcome: 'delivered' });
    const texts = textsIn(crm, location);
    expect(new Set(texts).size).toBe(20);
    expect(texts).toHaveLength(20);
  });
});
