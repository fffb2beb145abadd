import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import { CLOSE } from '@footbridge/protocol/close-codes';
import { startCrm } from '@footbridge/testkit/crm';
import { crmEnv } from '@footbridge/testkit/crm-env';
import type { Crm } from '@footbridge/testkit/crm';
import { startFaultProxy } from '@footbridge/testkit/fault-proxy';
import { activate, connectMac, joinMac } from '@footbridge/testkit/mac';
import type { Mac } from '@footbridge/testkit/mac';
import { hasPostgres } from '@footbridge/testkit/servers/postgres';
import { hasRedis } from '@footbridge/testkit/servers/redis';
import { startService } from '@footbridge/testkit/service';
import type { Service } from '@footbridge/testkit/service';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { startCluster } from './cluster.ts';
import type { Cluster } from './cluster.ts';

const SENDER = '+15555550100';
const canRun = (await hasRedis()) && (await hasPostgres());

/** What was seen while something was away, and after it had come back. */
interface Seen {
  webhook: Record<string, number | string | undefined>;
  inbound: { during: number; after: number; outcome: string | undefined };
  statuses: { during: readonly string[]; after: readonly string[] };
  health: { during: unknown; ready: unknown; after: unknown };
}

const health = async ({ url }: Service) => (await fetch(`${url}/health`)).status;
const readiness = async ({ operatorUrl }: Service) => {
  const answer = await fetch(`${operatorUrl}/readyz`);
  const { status, checks }: { status: string; checks?: Record<string, string> } = JSON.parse(
    await answer.text(),
  );
  return { http: answer.status, status, ...checks };
};
const inboundOf = (crm: Crm, locationId: string) =>
  crm.messages.filter((message) => message.locationId === locationId).length;
const healed = (service: Service) =>
  until(async () => (await health(service)) === 200, { within: 60_000, every: 200, what: 'health' });

describe('Redis away, one process: it has no use for Redis', () => {
  const closing = createCleanup();
  let [crm, service, mac]: [Crm?, Service?, Mac?] = [];
  const locationId = 'locAlone1';
  beforeAll(async () => {
    crm = await startCrm();
    closing.add(() => crm?.stop());
    service = await startService({
      env: {
        HOST: '127.0.0.1',
        ...crmEnv(crm),
        CRM_OAUTH_REFRESH_THRESHOLD_SEC: '60',
        CRM_OAUTH_DATABASE_URL: '',
      },
    });
    closing.add(() => service?.stop());
    const code = crm.install({ locationId });
    await fetch(`${service.url}/oauth/callback/crm?code=${encodeURIComponent(code)}`);
    crm.addContact({ locationId, phone: SENDER });
    const { key } = await service.license();
    mac = await joinMac(service.url, { licenseKey: key, locationId });
    closing.add(() => mac?.terminate());
  });
  afterAll(() => closing.run());

  it('W18 the webhook works', async () => {
    const sent = await crm?.sendWebhook(
      { locationId, phone: SENDER, message: 'Hi' },
      { url: service?.url ?? '' },
    );
    expect(sent?.status).toBe(200);
    await mac?.nextFrame('send', 60_000);
  });

  it('I6 what the Mac sends is delivered', async () => {
    expect(await mac?.ack(mac.received({ sender: SENDER, text: 'Hello' }), 60_000)).toMatchObject({
      outcome: 'delivered',
    });
  });

  it('A3 statuses are told', async () => {
    const sent = await crm?.sendWebhook(
      { locationId, phone: SENDER, message: 'Hi' },
      { url: service?.url ?? '' },
    );
    const { requestId, messageId } = (await mac?.nextFrame('send', 60_000)) ?? {};
    const seq = mac?.status({
      requestId: requestId ?? '',
      messageId: messageId ?? null,
      status: 'delivered',
    });
    expect(await mac?.ack(seq ?? 0, 60_000)).toMatchObject({ outcome: 'delivered' });
    expect(crm?.accepted(sent?.messageId ?? '')).toEqual(['pending', 'delivered']);
  });

  it('H1 health and readiness do not mention it', async () => {
    if (service === undefined) throw new Error('no service');
    expect(await health(service)).toBe(200);
    expect(await readiness(service)).toEqual({ http: 200, status: 'ok', store: 'ok' });
  });
});

describe.skipIf(!canRun)('two nodes', () => {
  const closing = createCleanup();
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster(closing, { nodes: 2, env: { MAC_HEARTBEAT_SEC: '2' } });
  }, 300_000);
  afterAll(async () => {
    const bugs = await cluster.bugs();
    await closing.run();
    expect(bugs).toEqual([]);
  }, 300_000);

  /** A location with a Mac at node 0, and everything a running node has in memory by then. */
  async function settled(deviceId = `mac-${randomUUID()}`): Promise<{ locationId: string; mac: Mac }> {
    const locationId = await cluster.location();
    const mac = await cluster.mac(0, locationId, deviceId);
    await mac.ack(mac.received({ sender: SENDER, text: 'before' }), 60_000);
    expect((await cluster.webhook(0, locationId)).status).toBe(200);
    const { requestId, messageId } = await mac.nextFrame('send', 60_000);
    await mac.ack(mac.status({ requestId, messageId, status: 'delivered' }), 60_000);
    return { locationId, mac };
  }
  const held = () => ({ sender: SENDER, text: 'held', guid: randomUUID().toUpperCase() });

  describe('Redis away', () => {
    let seen: Seen;
    let closeCode = 0;
    beforeAll(async () => {
      const { crm } = cluster;
      const { service } = cluster.node(0);
      const device = `mac-${randomUUID()}`;
      const { locationId, mac } = await settled(device);
      await cluster.redis.kill();
      const here = await cluster.webhook(0, locationId);
      const elsewhere = await cluster.webhook(1, locationId);
      const { requestId, messageId } = await mac.nextFrame('send', 60_000);
      const message = held();
      mac.received(message);
      mac.status({ requestId, messageId, status: 'delivered' });
      const during = { during: await health(service), ready: await readiness(service) };
      ({ code: closeCode } = await mac.closed);
      const later = await cluster.webhook(0, locationId);
      const told = crm.accepted(messageId ?? '');
      const brought = inboundOf(crm, locationId);
      await cluster.redis.restart();
      await healed(service);
      await healed(cluster.node(1).service);
      const back = await cluster.mac(1, locationId, device);
      const { outcome } = await back.ack(back.received(message), 60_000);
      await back.ack(back.status({ requestId, messageId, status: 'delivered' }), 60_000);
      seen = {
        webhook: {
          here: here.status,
          elsewhere: elsewhere.status,
          code: JSON.stringify(elsewhere.answer).includes('SERVICE_UNAVAILABLE') ? 'json' : 'other',
          later: later.status,
        },
        inbound: { during: brought, after: inboundOf(crm, locationId), outcome },
        statuses: { during: told, after: crm.accepted(messageId ?? '') },
        health: { ...during, after: await readiness(service) },
      };
      back.terminate();
    }, 300_000);

    it('W16 the webhook reaches Macs of the same node until the lease ends; other webhooks get 503', () => {
      expect(seen.webhook).toEqual({ here: 200, elsewhere: 503, code: 'json', later: 503 });
      expect(closeCode).toBe(CLOSE.goingAway);
    });
    it('I6 what the Mac sends is not acknowledged, and delivered once when Redis is back', () => {
      expect(seen.inbound).toEqual({ during: 1, after: 2, outcome: 'delivered' });
    });
    it('A11 statuses are held; the terminal one is told when Redis is back', () => {
      expect(seen.statuses.during).toEqual([]);
      expect(seen.statuses.after.at(-1)).toBe('delivered');
    });
    it('H1 health and readiness fail, and recover', () => {
      expect(seen.health).toEqual({
        during: 503,
        ready: { http: 503, status: 'fail', redis: 'fail', store: 'ok' },
        after: { http: 200, status: 'ok', redis: 'ok', store: 'ok' },
      });
    });
    it('A2 a pending is held over a short absence of Redis', async () => {
      const { locationId, mac } = await settled();
      await cluster.redis.kill();
      const { status, messageId = '' } = await cluster.webhook(0, locationId);
      expect(status).toBe(200);
      await sleep(1000);
      expect(cluster.crm.accepted(messageId)).toEqual([]);
      await cluster.redis.restart();
      await until(() => cluster.crm.accepted(messageId).length === 1, { within: 60_000, what: 'pending' });
      expect(cluster.crm.accepted(messageId)).toEqual(['pending']);
      mac.terminate();
    }, 300_000);
  });

  describe('PostgreSQL away', () => {
    let seen: Seen;
    beforeAll(async () => {
      const { crm } = cluster;
      const { service } = cluster.node(0);
      const { locationId, mac } = await settled();
      const contact = crm.addContact({ locationId, phone: '+15555550177' });
      await Promise.all(cluster.nodes.map((node) => node.postgres.down()));
      const given = await cluster.webhook(1, locationId);
      const looked = await cluster.webhook(0, locationId, { phone: undefined, contactId: contact.id });
      const { requestId, messageId } = await mac.nextFrame('send', 60_000);
      const status = mac.status({ requestId, messageId, status: 'delivered' });
      await mac.ack(status, 60_000);
      const message = held();
      const seq = mac.received(message);
      const during = { during: await health(service), ready: await readiness(service) };
      const [told, brought] = [crm.accepted(messageId ?? ''), inboundOf(crm, locationId)];
      await Promise.all(cluster.nodes.map((node) => node.postgres.up()));
      const { outcome } = await mac.ack(seq, 60_000);
      await healed(service);
      seen = {
        webhook: { given: given.status, looked: looked.status },
        inbound: { during: brought, after: inboundOf(crm, locationId), outcome },
        statuses: { during: told, after: crm.accepted(messageId ?? '') },
        health: { ...during, after: await readiness(service) },
      };
      mac.terminate();
    }, 300_000);

    it('W7 the webhook works, and looks phones up with the token it knows', () => {
      expect(seen.webhook).toEqual({ given: 200, looked: 200 });
    });
    it('I6 what the Mac sends is not acknowledged, and delivered once when it is back', () => {
      expect(seen.inbound).toEqual({ during: 1, after: 2, outcome: 'delivered' });
    });
    it('A3 statuses are told with the token it knows', () => {
      expect(seen.statuses.during).toEqual(['pending', 'delivered']);
      expect(seen.statuses.after).toEqual(['pending', 'delivered']);
    });
    it('H1 health fails, readiness is degraded: webhooks pass', () => {
      expect(seen.health).toEqual({
        during: 503,
        ready: { http: 200, status: 'degraded', redis: 'ok', store: 'fail' },
        after: { http: 200, status: 'ok', redis: 'ok', store: 'ok' },
      });
    });

    it('W18 a silent PostgreSQL delays no webhook, and a connecting Mac gets an answer', async () => {
      const { locationId, mac } = await settled();
      const { service } = cluster.node(0);
      const { deviceToken = '' } = await activate(service.url, { licenseKey: cluster.license.key });
      const silence = cluster.nodes.map((node) => node.postgres.add({ type: 'timeout' }));
      const seq = mac.received({ sender: SENDER, text: 'waits' });
      // /health asks PostgreSQL and waits for it; the webhook must not.
      const first = await Promise.race([
        cluster.webhook(0, locationId).then(({ status }) => ({ webhook: status })),
        health(service).then((status) => ({ health: status })),
      ]);
      expect(first).toEqual({ webhook: 200 });
      const joining = connectMac(service.url, { token: deviceToken }).then(
        (late) => late.terminate(),
        String,
      );
      await Promise.race([joining, sleep(60_000).then(() => expect.fail('the Mac hangs'))]);
      for (const one of silence) one.remove();
      expect(await mac.ack(seq, 60_000)).toMatchObject({ outcome: 'delivered' });
      await healed(service);
      mac.terminate();
    }, 300_000);
  });

  describe('the CRM away', () => {
    let seen: Seen;
    beforeAll(async () => {
      const { crm } = cluster;
      const { service } = cluster.node(1);
      const { locationId, mac } = await settled();
      const fault = crm.injectFault({ match: '*', locationId, times: 10_000, how: 'reset' });
      const { status, messageId = '' } = await cluster.webhook(1, locationId);
      const { requestId } = await mac.nextFrame('send', 60_000);
      const seq = mac.received(held());
      const report = mac.status({ requestId, messageId, status: 'delivered' });
      await until(() => fault.hits > 3, { within: 60_000 });
      const during = { during: await health(service), ready: await readiness(service) };
      const [told, brought] = [crm.accepted(messageId), inboundOf(crm, locationId)];
      fault.stop();
      const { outcome } = await mac.ack(seq, 60_000);
      await mac.ack(report, 60_000);
      seen = {
        webhook: { status },
        inbound: { during: brought, after: inboundOf(crm, locationId), outcome },
        statuses: { during: told, after: crm.accepted(messageId) },
        health: { ...during, after: await readiness(service) },
      };
      mac.terminate();
    }, 300_000);

    it('W18 the webhook is not affected', () => {
      expect(seen.webhook).toEqual({ status: 200 });
    });
    it('I6 what the Mac sends is not acknowledged, tried again, and delivered once', () => {
      expect(seen.inbound).toEqual({ during: 1, after: 2, outcome: 'delivered' });
    });
    it('A11 statuses are tried again; the terminal one stays with the Mac until it is told', () => {
      expect(seen.statuses.during).toEqual([]);
      expect(seen.statuses.after.at(-1)).toBe('delivered');
    });
    it('H1 health and readiness are good', () => {
      const good = { http: 200, status: 'ok', redis: 'ok', store: 'ok' };
      expect(seen.health).toEqual({ during: 200, ready: good, after: good });
    });
  });

  describe('the token endpoint away', () => {
    let seen: Seen;
    let withOldToken = '';
    beforeAll(async () => {
      const { crm } = cluster;
      const { service } = cluster.node(0);
      const lasting = crm.settings.expiresInSec;
      // Due for a refresh after half of its life.
      crm.settings.expiresInSec = 20;
      const locationId = await cluster.location();
      const bornAt = performance.now();
      const age = (sec: number) => sleep(Math.max(0, bornAt + sec * 1000 - performance.now()));
      crm.settings.expiresInSec = lasting;
      const mac = await cluster.mac(0, locationId);
      const fault = crm.injectFault({ match: 'token', times: 10_000, how: { status: 503 } });
      await age(10.5);
      ({ outcome: withOldToken } = await mac.ack(
        mac.received({ sender: SENDER, text: 'old token' }),
        60_000,
      ));
      await age(20.5);
      const seq = mac.received(held());
      const { status, messageId = '' } = await cluster.webhook(0, locationId);
      const { requestId } = await mac.nextFrame('send', 60_000);
      const report = mac.status({ requestId, messageId, status: 'delivered' });
      await sleep(1000);
      const during = { during: await health(service), ready: await readiness(service) };
      const [told, brought] = [crm.accepted(messageId), inboundOf(crm, locationId)];
      fault.stop();
      const { outcome } = await mac.ack(seq, 60_000);
      await mac.ack(report, 60_000);
      seen = {
        webhook: { status },
        inbound: { during: brought, after: inboundOf(crm, locationId), outcome },
        statuses: { during: told, after: crm.accepted(messageId) },
        health: { ...during, after: await readiness(service) },
      };
      mac.terminate();
    }, 300_000);

    it('W18 the webhook is not affected', () => {
      expect(seen.webhook).toEqual({ status: 200 });
    });
    it('O7 what the Mac sends goes with the old token until that expires, then waits', () => {
      expect(withOldToken).toBe('delivered');
      expect(seen.inbound).toEqual({ during: 1, after: 2, outcome: 'delivered' });
    });
    it('A11 statuses wait as well', () => {
      expect(seen.statuses.during).toEqual([]);
      expect(seen.statuses.after.at(-1)).toBe('delivered');
    });
    it('H1 health and readiness are good', () => {
      const good = { http: 200, status: 'ok', redis: 'ok', store: 'ok' };
      expect(seen.health).toEqual({ during: 200, ready: good, after: good });
    });
  });

  describe("the Mac's network away", () => {
    let seen: Pick<Seen, 'webhook' | 'statuses' | 'health'>;
    beforeAll(async () => {
      const { crm } = cluster;
      const { service } = cluster.node(0);
      const locationId = await cluster.location();
      const { deviceToken = '' } = await activate(service.url, { licenseKey: cluster.license.key });
      const line = await startFaultProxy({ to: service.url });
      closing.add(() => line.stop());
      const mac = await connectMac(line.url(service.url), { token: deviceToken });
      await mac.register(locationId);
      const { messageId = '' } = await cluster.webhook(1, locationId);
      await mac.nextFrame('send', 60_000);
      await until(() => crm.accepted(messageId).length === 1, { within: 60_000 });
      line.add({ type: 'timeout' });
      // Two heartbeats without an answer.
      const status = await until(
        async () => {
          const sent = await cluster.webhook(1, locationId);
          return sent.status === 200 ? undefined : sent.status;
        },
        { within: 60_000, every: 500 },
      );
      seen = {
        webhook: { status },
        statuses: { during: crm.accepted(messageId), after: [] },
        health: { during: await health(service), ready: await readiness(service), after: undefined },
      };
      mac.terminate();
    }, 300_000);

    it('W16 the webhook gets 404 once two heartbeats were missed', () => {
      expect(seen.webhook).toEqual({ status: 404 });
    });
    it('A9 what was on its way stays pending', () => {
      expect(seen.statuses.during).toEqual(['pending']);
    });
    it('H1 health and readiness are good', () => {
      expect(seen.health.during).toBe(200);
      expect(seen.health.ready).toMatchObject({ http: 200, status: 'ok' });
    });
  });

  describe('a slow Redis', () => {
    it('L6 200 ms away: webhooks, what the Mac sends and its lease live with it', async () => {
      const { locationId, mac } = await settled();
      const slow = cluster.nodes.map((node) =>
        node.redis.add({ type: 'latency', ms: 200, direction: 'down' }),
      );
      try {
        const statuses: (number | undefined)[] = [];
        // Longer than the fence of a lease that is not renewed.
        for (const end = performance.now() + 9000; performance.now() < end;) {
          statuses.push((await cluster.webhook(1, locationId)).status);
          expect(await mac.ack(mac.received({ sender: SENDER, text: 'slow' }), 60_000)).toMatchObject({
            outcome: 'delivered',
          });
        }
        expect(mac.isOpen).toBe(true);
        // A busy machine may add so much to the 200 ms that a single request gives up with 503.
        expect(new Set(statuses)).toContain(200);
        expect(statuses.filter((status) => status !== 200).length).toBeLessThan(statuses.length / 2);
      } finally {
        for (const one of slow) one.remove();
        mac.terminate();
      }
    }, 300_000);
  });
});
