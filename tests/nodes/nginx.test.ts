import { activate, connectMac } from '@footbridge/testkit/mac';
import type { Mac } from '@footbridge/testkit/mac';
import { hasNginx } from '@footbridge/testkit/servers/nginx';
import type { Nginx } from '@footbridge/testkit/servers/nginx';
import { hasPostgres } from '@footbridge/testkit/servers/postgres';
import { hasRedis } from '@footbridge/testkit/servers/redis';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { startCluster } from './cluster.ts';
import type { Cluster } from './cluster.ts';
import { ANSWERED, ROLLING_ENV, documentedNginx, restartAll, underLoad } from './rolling-load.ts';

const canRun = (await hasNginx()) && (await hasRedis()) && (await hasPostgres());

describe.skipIf(!canRun)("three nodes behind nginx, by the manual's config", { timeout: 300_000 }, () => {
  const closing = createCleanup();
  let cluster: Cluster;
  let nginx: Nginx;
  beforeAll(async () => {
    cluster = await startCluster(closing, {
      nodes: 3,
      faultProxies: false,
      env: { ...ROLLING_ENV, RATE_LIMIT_HEALTH: '5' },
    });
    nginx = await documentedNginx(cluster, closing);
  }, 300_000);
  afterAll(async () => {
    const bugs = await cluster.bugs();
    await closing.run();
    expect(bugs).toEqual([]);
  }, 300_000);

  async function join(locationId: string): Promise<Mac> {
    const { deviceToken = '' } = await activate(nginx.url, { licenseKey: cluster.license.key });
    const mac = await connectMac(nginx.url, { token: deviceToken });
    closing.add(() => mac.terminate());
    await mac.register(locationId);
    return mac;
  }
  const webhook = (locationId: string) =>
    cluster.crm.sendWebhook({ locationId, phone: '+15555550100', message: 'Hi' }, { url: nginx.url });

  it('W18 a Mac joins through it and gets what is sent through it, whichever node is asked', async () => {
    const locationId = await cluster.location();
    const mac = await join(locationId);
    const sent = await Promise.all(Array.from({ length: 9 }, () => webhook(locationId)));
    expect(sent.map(({ status }) => status)).toEqual(Array.from({ length: 9 }, () => 200));
    for (const _ of sent) await mac.nextFrame('send', 60_000);
    const reply = mac.received({ sender: '+15555550100', text: 'back' });
    expect(await mac.ack(reply, 60_000)).toMatchObject({ outcome: 'delivered' });
  });

  it('L7 a client is counted by the address that nginx saw, not by the X-Forwarded-For it sent', async () => {
    const ask = async (localAddress: string, claimed: string) => {
      const dispatcher = new Agent({ localAddress });
      const answer = await request(`${nginx.url}/health`, {
        dispatcher,
        headers: { 'x-forwarded-for': claimed },
      });
      await answer.body.dump();
      await dispatcher.destroy();
      return answer.statusCode;
    };
    const statuses: number[] = [];
    for (let index = 0; index < 6; index++) statuses.push(await ask('127.0.0.2', `203.0.113.${index}`));
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
    expect(await ask('127.0.0.3', '127.0.0.2')).toBe(200);
  });

  it('H1 a rolling restart at up to 200 webhooks a second: no 502, no reset, and each 200 reached the Mac', async () => {
    const restart = () => restartAll(cluster);
    const { results, frames, closeCodes } = await underLoad(cluster, nginx, 200, restart);
    const complaints = nginx.errors.filter((line) => !line.includes('Connection refused'));
    // 503 is a node's own answer: on a machine that is busy enough, Redis is slower than a webhook may wait.
    const unanswered = Object.keys(results).filter((result) => !ANSWERED.includes(result));
    expect({ unanswered, complaints }).toEqual({ unanswered: [], complaints: [] });
    expect(frames).toBe(results['200']);
    expect(frames).toBeGreaterThan(500);
    expect(closeCodes).toContain(1001);
  }, 300_000);
});
