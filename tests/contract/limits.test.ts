import { signBody } from '@footbridge/testkit/keys';
import { describe, expect, it } from 'vitest';

import { GOOD, OTHER_LOCATION, bridgesWithMac } from './test-bridge.ts';
import type { PostOptions, TestBridge } from './test-bridge.ts';

const startBridge = bridgesWithMac();
/** A bridge with limits, whose minute lasts until the test skips it. */
const start = (env: Record<string, string>) => startBridge({ env, stoppedClock: true });

const statuses = async (times: number, ask: () => Promise<{ status: number }>): Promise<number[]> => {
  const seen: number[] = [];
  for (let n = 0; n < times; n++) seen.push((await ask()).status);
  return seen;
};

describe('the webhook limit of a location', () => {
  it('L1 allows 60 requests, then responds 429 until the minute is over', async () => {
    const bridge = await start({ RATE_LIMIT_CRM_WEBHOOK: '60' });
    expect(new Set(await statuses(60, () => bridge.post(GOOD)))).toEqual(new Set([200]));
    const { status, json } = await bridge.post(GOOD);
    expect(status).toBe(429);
    expect(json).toEqual({
      error: 'TOO_MANY_REQUESTS',
      code: 'TOO_MANY_REQUESTS',
      message: 'Too many webhook requests for this location',
    });
    expect(await bridge.sent()).toHaveLength(60);
    await bridge.clock.skip(59_000);
    expect((await bridge.post(GOOD)).status).toBe(429);
    await bridge.clock.skip(1000);
    expect((await bridge.post(GOOD)).status).toBe(200);
  });

  it('L1 counts the three paths together', async () => {
    const bridge = await start({ RATE_LIMIT_CRM_WEBHOOK: '3' });
    const paths = ['/crm/webhook', '/crm/webhook/imessage', '/crm/webhook/sms', '/crm/webhook/sms'];
    const seen = [];
    for (const path of paths) seen.push((await bridge.post(GOOD, { path })).status);
    expect(seen).toEqual([200, 200, 200, 429]);
  });

  it('L1 counts rejected requests too, and a 429 does not run the handler', async () => {
    const bridge = await start({ RATE_LIMIT_CRM_WEBHOOK: '2' });
    expect((await bridge.post({ ...GOOD, phone: undefined })).status).toBe(400);
    expect((await bridge.post({ ...GOOD, contactId: undefined })).status).toBe(400);
    expect((await bridge.post({ ...GOOD, phone: undefined })).status).toBe(429);
    expect(bridge.crm.callsTo('contact')).toHaveLength(1);
    expect(await bridge.sent()).toEqual([]);
  });

  it('L1 does not count the requests of other locations', async () => {
    const bridge = await start({ RATE_LIMIT_CRM_WEBHOOK: '1' });
    await bridge.mac(OTHER_LOCATION);
    expect(await statuses(2, () => bridge.post(GOOD))).toEqual([200, 429]);
    expect((await bridge.post({ ...GOOD, locationId: OTHER_LOCATION })).status).toBe(200);
  });

  it('L2 is reported in the headers of every response', async () => {
    const bridge = await start({ RATE_LIMIT_CRM_WEBHOOK: '4' });
    const shown = async (body: unknown) => {
      const { status, headers } = await bridge.post(body);
      const value = (name: string) => headers.get(name);
      return [
        status,
        value('ratelimit-limit'),
        value('ratelimit-remaining'),
        value('ratelimit-reset'),
        value('retry-after'),
      ];
    };
    expect(await shown(GOOD)).toEqual([200, '4', '3', '60', null]);
    await bridge.clock.skip(12_500);
    expect(await shown({ ...GOOD, phone: 'x' })).toEqual([400, '4', '2', '48', null]);
    expect(await shown({ ...GOOD, type: 'Email' })).toEqual([400, '4', '1', '48', null]);
    expect(await shown(GOOD)).toEqual([200, '4', '0', '48', null]);
    expect(await shown(GOOD)).toEqual([429, '4', '0', '48', '48']);
    await bridge.clock.skip(47_400);
    expect(await shown(GOOD)).toEqual([429, '4', '0', '1', '1']);
  });

  it('L2 is also reported with 404 and to requests without a location', async () => {
    const bridge = await start({ RATE_LIMIT_CRM_WEBHOOK: '9' });
    for (const body of [{ ...GOOD, locationId: OTHER_LOCATION }, {}, []]) {
      const { headers } = await bridge.post(body);
      expect(headers.get('ratelimit-limit')).toBe('9');
    }
  });
});

describe('the key of the limiter', () => {
  /** Returns whether two requests share a bucket: with a limit of one, the second then gets 429. */
  async function share(
    bridge: TestBridge,
    first: object,
    second: object,
    options: PostOptions = {},
  ): Promise<boolean> {
    await bridge.post(first, options);
    return (await bridge.post(second, options)).status === 429;
  }
  const BEHIND_PROXY = { TRUST_PROXY: 'loopback' };
  const from = (address: string): PostOptions => ({ headers: { 'X-Forwarded-For': address } });
  const of = (locationId: unknown) => ({ ...GOOD, locationId });

  it.each([
    ['3 letters', 'abc', 'abd'],
    ['200 letters', `${'a'.repeat(199)}b`, `${'a'.repeat(199)}c`],
    ['another case', 'abc', 'ABC'],
  ])('L3 is the location when it has %s', async (_name, one, other) => {
    const bridge = await start({ RATE_LIMIT_CRM_WEBHOOK: '1' });
    expect(await share(bridge, of(one), of(other))).toBe(false);
    expect((await bridge.post(of(one))).status).toBe(429);
  });

  it.each([
    ['2 letters', 'ab', 'cd'],
    ['201 letters', 'a'.repeat(201), 'b'.repeat(201)],
    ['a dash', 'loc-1', 'loc-2'],
    ['a space', 'loc 1', 'loc 2'],
    ['non-ASCII letters', 'locé1', 'locé2'],
    ['a line break at the end', 'locA\n', 'locB\n'],
    ['the type number', 12_345, 67_890],
    ['no value', undefined, undefined],
  ])('L3 is the address when the location has %s', async (_name, one, other) => {
    const bridge = await start({ ...BEHIND_PROXY, RATE_LIMIT_CRM_WEBHOOK: '1' });
    expect(await share(bridge, of(one), of(other))).toBe(true);
    expect((await bridge.post(of(other), from('203.0.113.8'))).status).not.toBe(429);
  });

  it('L3 differs for a location and an address with the same spelling', async () => {
    const bridge = await start({
      ...BEHIND_PROXY,
      RATE_LIMIT_CRM_WEBHOOK: '1',
      RATE_LIMIT_VALIDATE_LOCATION_ID: 'false',
    });
    expect(await share(bridge, of('10.0.0.1'), of(undefined), from('10.0.0.1'))).toBe(false);
  });

  it('L3 is any location with RATE_LIMIT_VALIDATE_LOCATION_ID=false', async () => {
    const bridge = await start({ RATE_LIMIT_CRM_WEBHOOK: '1', RATE_LIMIT_VALIDATE_LOCATION_ID: 'false' });
    expect(await share(bridge, of('loc-1'), of('loc-2'))).toBe(false);
    expect((await bridge.post(of('loc-1'))).status).toBe(429);
    expect(await share(bridge, of(undefined), of(5))).toBe(true);
  });

  it('L3 counts requests by address and by location separately', async () => {
    const bridge = await start({ RATE_LIMIT_CRM_WEBHOOK: '1' });
    await bridge.post(of('ab'));
    expect((await bridge.post(GOOD)).status).toBe(200);
  });

  it('L3 is the same for all addresses of one IPv6 /64 network', async () => {
    const bridge = await start({ ...BEHIND_PROXY, RATE_LIMIT_CRM_WEBHOOK: '1' });
    await bridge.post(of('ab'), from('2001:db8:1:2::1'));
    expect((await bridge.post(of('ab'), from('2001:db8:1:2:ffff::9'))).status).toBe(429);
    expect((await bridge.post(of('ab'), from('2001:db8:1:3::1'))).status).toBe(404);
  });

  it('L7 does not depend on an address that the client claims', async () => {
    const bridge = await start({ RATE_LIMIT_CRM_WEBHOOK: '1' });
    const forged = (address: string) =>
      bridge.post(of('ab'), { headers: { 'X-Forwarded-For': address, Forwarded: `for=${address}` } });
    await forged('1.1.1.1');
    expect((await forged('2.2.2.2')).status).toBe(429);
  });
});

describe('unsigned requests', () => {
  it('L1 that name a location do not count towards its limit', async () => {
    const bridge = await start({ RATE_LIMIT_CRM_WEBHOOK: '5', RATE_LIMIT_UNSIGNED: '3' });
    const bad = Array.from({ length: 40 }, (_, n) =>
      bridge.post(GOOD, { signature: signBody(`${n}`, bridge.crm.key) }),
    );
    for (const { status, headers } of await Promise.all(bad)) {
      expect(status).toBe(401);
      expect(headers.get('ratelimit-remaining')).toBeNull();
    }
    const { headers } = await bridge.post(GOOD);
    expect(headers.get('ratelimit-remaining')).toBe('4');
    expect(await bridge.sent()).toHaveLength(1);
  });
});
