import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import { activate, connectMac } from '@footbridge/testkit/mac';
import type { Mac } from '@footbridge/testkit/mac';
import { hasNginx, startNginx } from '@footbridge/testkit/servers/nginx';
import type { Nginx } from '@footbridge/testkit/servers/nginx';
import { hasPostgres } from '@footbridge/testkit/servers/postgres';
import { hasRedis } from '@footbridge/testkit/servers/redis';
import { undoList } from '@footbridge/testkit/undo';
import { until } from '@footbridge/testkit/until';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openHouse } from './house.ts';
import type { House } from './house.ts';

const canRun = (await hasNginx()) && (await hasRedis()) && (await hasPostgres());

/** The block of the manual, with the addresses of this test and nothing else changed. */
async function documented(listen: string, nodes: readonly string[]): Promise<string> {
  const manual = await readFile(new URL('../../docs/operate.md', import.meta.url), 'utf8');
  const [, block = ''] = /```nginx\n([\s\S]*?)```/.exec(manual) ?? [];
  const ports = ['127.0.0.1:4600', '127.0.0.1:4601', '127.0.0.1:4602'];
  expect(ports.every((port) => block.includes(`server ${port}`))).toBe(true);
  expect(block).toContain('listen 8080;');
  return ports.reduce(
    (text, port, index) => text.replace(port, new URL(nodes[index] ?? '').host),
    block.replace('listen 8080;', `listen ${listen};`),
  );
}

describe.skipIf(!canRun)("three nodes behind nginx, by the manual's config", { timeout: 60_000 }, () => {
  const closing = undoList();
  let house: House;
  let nginx: Nginx;
  beforeAll(async () => {
    const env = { TRUST_PROXY: '127.0.0.1', RATE_LIMIT_HEALTH: '5', RATE_LIMIT_CRM_WEBHOOK: '100000' };
    house = await openHouse(closing, { nodes: 3, env });
    const urls = house.nodes.map(({ service }) => service.url);
    // The address is only known to `startNginx`, the file only to be read before.
    const block = await documented('ADDRESS', urls);
    nginx = await startNginx((address) => block.replace('ADDRESS', address));
    closing.add(() => nginx.stop());
  }, 120_000);
  afterAll(async () => {
    const bugs = await house.bugs();
    await closing.run();
    expect(bugs).toEqual([]);
  }, 60_000);

  async function join(locationId: string): Promise<Mac> {
    const { deviceToken = '' } = await activate(nginx.url, { licenseKey: house.license.key });
    const mac = await connectMac(nginx.url, { token: deviceToken });
    closing.add(() => mac.terminate());
    await mac.register(locationId);
    return mac;
  }
  const webhook = (locationId: string) =>
    house.crm.sendWebhook({ locationId, phone: '+15555550100', message: 'Hi' }, { url: nginx.url });

  it('W18 a Mac joins through it and gets what is sent through it, whichever node is asked', async () => {
    const locationId = await house.location();
    const mac = await join(locationId);
    const sent = await Promise.all(Array.from({ length: 9 }, () => webhook(locationId)));
    expect(sent.map(({ status }) => status)).toEqual(Array.from({ length: 9 }, () => 200));
    for (const _ of sent) await mac.nextFrame('send', 5000);
    const reply = mac.received({ sender: '+15555550100', text: 'back' });
    expect(await mac.ack(reply, 10_000)).toMatchObject({ outcome: 'delivered' });
  });

  it('L7 whoever asks is counted by the address nginx saw, not by what they claim', async () => {
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

  it('H1 a node that drains: its Macs come back through nginx, webhooks are answered all the time', async () => {
    const locationId = await house.location();
    const deviceId = `mac-${randomUUID()}`;
    const { deviceToken } = await activate(nginx.url, { licenseKey: house.license.key, deviceId });
    let frames = 0;
    const stopped = new AbortController();
    const ends: number[] = [];
    const living = (async () => {
      while (!stopped.signal.aborted) {
        const mac = await connectMac(nginx.url, { token: deviceToken ?? '' });
        closing.add(() => mac.terminate());
        await mac.register(locationId);
        ends.push((await mac.closed).code);
        frames += mac.frames.filter(({ type }) => type === 'send').length;
        await sleep(20);
      }
    })();
    const codes: (number | undefined)[] = [];
    const asking = (async () => {
      while (!stopped.signal.aborted) {
        codes.push((await webhook(locationId)).status);
        await sleep(20);
      }
    })();
    await until(() => codes.includes(200), { within: 10_000 });
    for (const { service } of house.nodes) {
      await service.halt();
      await sleep(300);
      await service.start();
    }
    stopped.abort();
    await asking;
    // Its last node still has it.
    await house.node(0).service.operator('POST', `/operator/locations/${locationId}/disconnect`);
    await living;
    const count = (code: number) => codes.filter((one) => one === code).length;
    expect(codes.filter((code) => code !== 200 && code !== 404)).toEqual([]);
    expect(count(200)).toBe(frames);
    expect(count(200)).toBeGreaterThan(count(404));
    expect(ends).toContain(1001);
    expect(nginx.errors.filter((line) => line.includes('no live upstreams'))).toEqual([]);
  });
});
