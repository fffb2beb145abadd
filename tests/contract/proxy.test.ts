import { startForwardProxy } from '@footbridge/testkit/forward-proxy';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { afterEach, describe, expect, it } from 'vitest';

import { TestBridge, LOCATION, PHONE } from './test-bridge.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const AUTHORIZATION = `Basic ${Buffer.from('operator:canary-word').toString('base64')}`;

/** The whole service, whose only way to the CRM is a proxy that asks for `authorization`. */
async function startBehindProxy(authorization: string) {
  const proxy = await startForwardProxy(authorization);
  cleanup.add(() => proxy.stop());
  const world = await TestBridge.start();
  cleanup.add(() => world.stop());
  const contact = world.crm.addContact({ locationId: LOCATION, phone: PHONE });
  await world.restart({
    // Only the proxy can resolve this name.
    CRM_HOSTNAME: world.crm.url.replace('127.0.0.1', 'crm.test'),
    HTTP_PROXY: `http://operator:canary-word@${proxy.address}`,
  });
  return { proxy, world, contact };
}

describe('a service behind a proxy', () => {
  it('delivers inbound messages through it', async () => {
    const { proxy, world, contact } = await startBehindProxy(AUTHORIZATION);
    const mac = await world.mac();
    expect(await mac.ack(mac.received({ sender: PHONE, text: 'Hi there' }))).toMatchObject({
      outcome: 'delivered',
    });
    expect(world.crm.callsTo('inbound')[0]?.body).toMatchObject({ contactId: contact.id });
    expect(proxy.asked.map(({ line }) => line)).toContainEqual(
      expect.stringMatching(/^POST http:\/\/crm\.test:\d+\/conversations\/messages\/inbound$/),
    );
    expect(world.log).not.toMatch(/canary|operator:/);
  });

  it('does not log the credentials of a proxy that rejects them', async () => {
    const { proxy, world } = await startBehindProxy('Basic other');
    const mac = await world.mac();
    mac.received({ sender: PHONE, text: 'Hi there' });
    await expect.poll(() => proxy.asked.length, { timeout: 25_000 }).toBeGreaterThan(1);
    expect(world.crm.callsTo('inbound')).toEqual([]);
    expect(world.log).toContain('"network"');
    expect(world.log).not.toMatch(/canary|operator:/);
  });
});
