import { createCleanup } from '@footbridge/testkit/cleanup';
import { UpgradeError } from '@footbridge/testkit/mac';
import { until } from '@footbridge/testkit/until';
import { MAC_BUDGET } from '@footbridge/service/platform/budgets';
import { afterEach, describe, expect, it } from 'vitest';

import { LOCATION, OTHER_LOCATION, TestBridge } from '../contract/test-bridge.ts';
import { honestTraffic } from './honest-traffic.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

async function start(env: Record<string, string> = {}): Promise<TestBridge> {
  const bridge = await TestBridge.start({ env });
  cleanup.add(() => bridge.stop());
  return bridge;
}

const ALL_SENT = { statuses: { 200: 20 } };

describe('one device', () => {
  it('T53 has a bounded number of sockets, and gets them back when it closes them', async () => {
    const bridge = await start();
    await bridge.mac(OTHER_LOCATION);
    const token = await bridge.token();
    const macs = [];
    for (let number = 0; number < MAC_BUDGET.socketsPerDevice; number++)
      macs.push(await bridge.connect({ token }));
    const rejected = await bridge.connect({ token }).catch((error: unknown) => error);
    expect(rejected).toBeInstanceOf(UpgradeError);
    expect(String(rejected)).toContain('429');
    expect(await honestTraffic(bridge)).toMatchObject(ALL_SENT);
    await macs[0]?.close();
    await until(() => bridge.connect({ token }).catch(() => undefined));
  });

  it.each([
    ['', 'x', 60],
    [', counted with two bytes a character where the text takes them', '\u6587', 30],
  ])(
    'T53 has a bounded amount of unacknowledged frames in memory, and loses none%s',
    async (_how, first, messages) => {
      const bridge = await start({ MAC_HEARTBEAT_SEC: '1' });
      await bridge.mac(OTHER_LOCATION);
      const mac = await bridge.mac(LOCATION);
      bridge.crm.injectFault({ match: '*', locationId: LOCATION, times: 1000, how: 'hang' });
      const text = first + 'x'.repeat(90_000);
      for (let message = 0; message < messages; message++)
        mac.received({ sender: `+1415555${1000 + message}`, text });
      expect(await honestTraffic(bridge)).toMatchObject(ALL_SENT);
      // The service asks for the frames that it did not keep: the Mac comes back and sends them again.
      expect(await mac.closed).toMatchObject({
        code: 1001,
        reason: expect.stringContaining('not delivered'),
      });
    },
  );
});

it('T30 a Mac that sends large frames of unknown types is disconnected after a few megabytes', async () => {
  const bridge = await start();
  await bridge.mac(OTHER_LOCATION);
  const mac = await bridge.mac();
  const frame = JSON.stringify({ type: 'news', text: 'x'.repeat(250_000) });
  for (let number = 0; number < 20; number++) mac.sendRaw(frame);
  expect(await mac.closed).toMatchObject({ code: 4000, reason: expect.stringContaining('unknown types') });
  expect(await honestTraffic(bridge)).toMatchObject(ALL_SENT);
});

it.each([
  ['arrays', '['.repeat(5000)],
  ['names', '"name":1,'.repeat(5000)],
  ['items', '"list":['.concat('1,'.repeat(20_000))],
])('T54 a frame with thousands of %s is counted and not parsed', async (_what, content) => {
  const bridge = await start();
  const mac = await bridge.mac();
  // Not JSON: a parser would reject it.
  const frame = `{"type":"news","content":{${content}`;
  mac.sendRaw(frame);
  await mac.roundTrip();
  for (let bytes = 0; bytes <= 1_048_576; bytes += frame.length) mac.sendRaw(frame);
  expect(await mac.closed).toMatchObject({ code: 4000, reason: expect.stringContaining('unknown types') });
});

it('T54 an activation with hundreds of arrays is not parsed', async () => {
  const bridge = await start();
  const { key } = await bridge.createLicense(1);
  const activate = async (lists: unknown[]) => {
    const body = JSON.stringify({ licenseKey: key, deviceId: 'mac-of-lists-1', lists });
    return (await fetch(`${bridge.url}/mac/activate`, { method: 'POST', body })).status;
  };
  expect(await activate(Array.from({ length: 200 }, () => []))).toBe(400);
  expect(await activate([])).toBe(201);
});

describe('a license', () => {
  it('T53 M8 takes ten locations more than it has seats, and others only from the operator', async () => {
    const bridge = await start();
    const { id, key } = await bridge.createLicense(1);
    const token = await bridge.token('mac-greedy-1', key);
    const register = async (locationId: string) => {
      const mac = await bridge.connect({ token });
      const outcome = await Promise.race([mac.register(locationId).then(() => 'bound'), mac.closed]).catch(
        () => mac.closed,
      );
      await mac.close();
      return outcome;
    };
    for (let number = 0; number < 11; number++) expect(await register(`locGreedy${number}`)).toBe('bound');
    expect(await register('locGreedy11')).toMatchObject({ code: 4504 });
    const assigned = await bridge.operator('PUT', '/operator/locations/locGreedy11', { licenseId: id });
    expect(assigned.status).toBe(200);
    expect(await register('locGreedy11')).toBe('bound');
  });

  it('M8 takes a free location by default only while it is the only one', async () => {
    const bridge = await start({ LOCATION_CLAIM: 'auto' });
    const first = await bridge.mac('locOfTheFirst');
    expect(first.isOpen).toBe(true);
    const { id, key } = await bridge.createLicense(5);
    const squatter = await bridge.connect({ token: await bridge.token('mac-second-1', key) });
    await squatter.register('locOfANewTenant').catch(() => undefined);
    expect(await squatter.closed).toMatchObject({ code: 4504 });
    // The first license does not take it either, and keeps its own.
    const greedy = await bridge.connect();
    await greedy.register('locOfANewTenant').catch(() => undefined);
    expect(await greedy.closed).toMatchObject({ code: 4504 });
    await bridge.mac('locOfTheFirst');
    await bridge.operator('PUT', '/operator/locations/locOfANewTenant', { licenseId: id });
    const owner = await bridge.connect({ token: await bridge.token('mac-second-1', key) });
    await owner.register('locOfANewTenant');
  });
});
