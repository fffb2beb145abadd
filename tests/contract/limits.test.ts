import { signBody } from '@footbridge/testkit/keys';
import { afterEach, describe, expect, it } from 'vitest';

import { GOOD, startWorld } from './webhook-world.ts';
import type { World } from './webhook-world.ts';

const worlds: World[] = [];
afterEach(async () => {
  await Promise.all(worlds.splice(0).map((world) => world.stop()));
});
async function start(...settings: Parameters<typeof startWorld>): Promise<World> {
  const world = await startWorld(...settings);
  worlds.push(world);
  return world;
}

const statuses = async (times: number, ask: () => Promise<{ status: number }>): Promise<number[]> => {
  const seen: number[] = [];
  for (let n = 0; n < times; n++) seen.push((await ask()).status);
  return seen;
};

describe('per location', () => {
  it('L1 60 a minute, then 429 until the minute is over', async () => {
    const world = await start({ webhookPerMinute: 60 });
    expect(new Set(await statuses(60, () => world.post(GOOD)))).toEqual(new Set([200]));
    const { status, json } = await world.post(GOOD);
    expect(status).toBe(429);
    expect(json).toEqual({
      error: 'TOO_MANY_REQUESTS',
      code: 'TOO_MANY_REQUESTS',
      message: 'Too many webhook requests for this location',
    });
    expect(world.frames).toHaveLength(60);
    await world.clock.advance(59_000);
    expect((await world.post(GOOD)).status).toBe(429);
    await world.clock.advance(1000);
    expect((await world.post(GOOD)).status).toBe(200);
  });

  it('L1 the three paths count together', async () => {
    const world = await start({ webhookPerMinute: 3 });
    const paths = ['/crm/webhook', '/crm/webhook/imessage', '/crm/webhook/sms', '/crm/webhook/sms'];
    const seen = [];
    for (const path of paths) seen.push((await world.post(GOOD, { path })).status);
    expect(seen).toEqual([200, 200, 200, 429]);
  });

  it('L1 refused requests count too, and the handler does not run on a 429', async () => {
    const world = await start({ webhookPerMinute: 2 });
    expect((await world.post({ ...GOOD, phone: undefined })).status).toBe(400);
    expect((await world.post({ ...GOOD, contactId: undefined })).status).toBe(400);
    expect((await world.post({ ...GOOD, phone: undefined })).status).toBe(429);
    expect(world.lookUps).toHaveLength(1);
    expect(world.frames).toEqual([]);
  });

  it('L1 one location does not use up another', async () => {
    const world = await start({ webhookPerMinute: 1 });
    await world.bind('locB2');
    expect(await statuses(2, () => world.post(GOOD))).toEqual([200, 429]);
    expect((await world.post({ ...GOOD, locationId: 'locB2' })).status).toBe(200);
  });

  it('L2 every limited answer says where the location stands', async () => {
    const world = await start({ webhookPerMinute: 4 });
    const shown = async (body: unknown) => {
      const { status, headers } = await world.post(body);
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
    await world.clock.advance(12_500);
    expect(await shown({ ...GOOD, phone: 'x' })).toEqual([400, '4', '2', '48', null]);
    expect(await shown({ ...GOOD, type: 'Email' })).toEqual([400, '4', '1', '48', null]);
    expect(await shown(GOOD)).toEqual([200, '4', '0', '48', null]);
    expect(await shown(GOOD)).toEqual([429, '4', '0', '48', '48']);
    await world.clock.advance(47_400);
    expect(await shown(GOOD)).toEqual([429, '4', '0', '1', '1']);
  });

  it('L2 404 and requests without a location are limited answers as well', async () => {
    const world = await start({ webhookPerMinute: 9 });
    for (const body of [{ ...GOOD, locationId: 'locB2' }, {}, []]) {
      const { headers } = await world.post(body);
      expect(headers.get('ratelimit-limit')).toBe('9');
    }
  });
});

describe('the key', () => {
  /** Two requests with a limit of one: the second is refused when they share a bucket. */
  async function share(world: World, first: object, second: object): Promise<boolean> {
    await world.post(first);
    return (await world.post(second)).status === 429;
  }
  const of = (locationId: unknown) => ({ ...GOOD, locationId });

  it.each([
    ['3 letters', 'abc', 'abd'],
    ['200 letters', `${'a'.repeat(199)}b`, `${'a'.repeat(199)}c`],
    ['upper and lower case', 'abc', 'ABC'],
  ])('L3 %s: the location is the key', async (_name, one, other) => {
    const world = await start({ webhookPerMinute: 1 });
    expect(await share(world, of(one), of(other))).toBe(false);
    expect((await world.post(of(one))).status).toBe(429);
  });

  it.each([
    ['too short', 'ab', 'cd'],
    ['too long', 'a'.repeat(201), 'b'.repeat(201)],
    ['a dash', 'loc-1', 'loc-2'],
    ['a space', 'loc 1', 'loc 2'],
    ['letters beyond ASCII', 'locé1', 'locé2'],
    ['a line break at the end', 'locA\n', 'locB\n'],
    ['a number', 12_345, 67_890],
    ['nothing', undefined, undefined],
  ])('L3 %s: the address is the key', async (_name, one, other) => {
    const world = await start({ webhookPerMinute: 1 });
    expect(await share(world, of(one), of(other))).toBe(true);
    world.comeFrom('203.0.113.8');
    expect((await world.post(of(other))).status).not.toBe(429);
  });

  it('L3 a location and an address that are spelled alike do not share a bucket', async () => {
    const world = await start({ webhookPerMinute: 1, validateLocationId: false });
    world.comeFrom('10.0.0.1');
    expect(await share(world, of('10.0.0.1'), of(undefined))).toBe(false);
  });

  it('L3 RATE_LIMIT_VALIDATE_LOCATION_ID=false lets any location be the key', async () => {
    const world = await start({ webhookPerMinute: 1, validateLocationId: false });
    expect(await share(world, of('loc-1'), of('loc-2'))).toBe(false);
    expect((await world.post(of('loc-1'))).status).toBe(429);
    expect(await share(world, of(undefined), of(5))).toBe(true);
  });

  it('L3 an address is no location, and the other way round', async () => {
    const world = await start({ webhookPerMinute: 1 });
    await world.post(of('ab'));
    expect((await world.post(GOOD)).status).toBe(200);
  });

  it('L3 neighbours in one IPv6 network share a bucket', async () => {
    const world = await start({ webhookPerMinute: 1 });
    world.comeFrom('2001:db8:1:2::1');
    await world.post(of('ab'));
    world.comeFrom('2001:db8:1:2:ffff::9');
    expect((await world.post(of('ab'))).status).toBe(429);
    world.comeFrom('2001:db8:1:3::1');
    expect((await world.post(of('ab'))).status).toBe(404);
  });

  it('L7 what a client says of its address does not count', async () => {
    const world = await start({ webhookPerMinute: 1 });
    const forged = (from: string) =>
      world.post(of('ab'), { headers: { 'X-Forwarded-For': from, Forwarded: `for=${from}` } });
    await forged('1.1.1.1');
    expect((await forged('2.2.2.2')).status).toBe(429);
  });
});

describe('unsigned requests', () => {
  it('L1 naming a tenant burns nothing of its minute', async () => {
    const world = await start({ webhookPerMinute: 5, unsignedPerMinute: 3 });
    const bad = Array.from({ length: 40 }, (_, n) =>
      world.post(GOOD, { signature: signBody(`${n}`, world.key) }),
    );
    for (const { status, headers } of await Promise.all(bad)) {
      expect(status).toBe(401);
      expect(headers.get('ratelimit-remaining')).toBeNull();
    }
    const { headers } = await world.post(GOOD);
    expect(headers.get('ratelimit-remaining')).toBe('4');
    expect(world.frames).toHaveLength(1);
  });
});
