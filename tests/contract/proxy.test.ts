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
  const bridge = await TestBridge.start();
  cleanup.add(() => bridge.stop());
  const contact = bridge.crm.addContact({ locationId: LOCATION, phone: PHONE });
  await bridge.restart({
    // Only the proxy can resolve this name.
    CRM_HOSTNAME: bridge.crm.url.replace('127.0.0.1', 'crm.test'),
    ALLOW_INSECURE: 'true',
    HTTP_PROXY: `http://operator:canary-word@${proxy.address}`,
  });
  return { proxy, bridge, contact };
}

describe('a service behind a proxy', () => {
  it('delivers inbound messages through it', async () => {
    const { proxy, bridge, contact } = await startBehindProxy(AUTHORIZATION);
    const mac = await bridge.mac();
    expect(await mac.ack(mac.received({ sender: PHONE, text: 'Hi there' }))).toMatchObject({
      outcome: 'delivered',
    });
    expect(bridge.crm.callsTo('inbound')[0]?.body).toMatchObject({ contactId: contact.id });
    expect(proxy.asked.map(({ line }) => line)).toContainEqual(
      expect.stringMatching(/^POST http:\/\/crm\.test:\d+\/conversations\/messages\/inbound$/),
    );
    expect(bridge.log).not.toMatch(/canary|operator:/);
  });

  it('does not log the credentials of a proxy that rejects them', async () => {
    const { proxy, bridge } = await startBehindProxy('Basic other');
    const mac = await bridge.mac();
    mac.received({ sender: PHONE, text: 'Hi there' });
    await expect.poll(() => proxy.asked.length, { timeout: 60_000 }).toBeGreaterThan(1);
    expect(bridge.crm.callsTo('inbound')).toEqual([]);
    expect(bridge.log).toContain('"network"');
    expect(bridge.log).not.toMatch(/canary|operator:/);
  });
});
