import { setTimeout as sleep } from 'node:timers/promises';

import { collectGarbage } from '@footbridge/testkit/collect-garbage';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { activate, connectMac } from '@footbridge/testkit/mac';
import type { Mac } from '@footbridge/testkit/mac';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { startMacHouse } from './mac-house.ts';
import type { HouseOptions, MacHouse } from './mac-house.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

async function start(options?: HouseOptions) {
  const house = await startMacHouse(options);
  cleanup.add(() => house.stop());
  const license = await house.createLicense();
  const connect = async (more: { answerPings?: boolean } = {}) => {
    const { deviceToken = '' } = await activate(house.url, { licenseKey: license.key });
    const mac = await connectMac(house.url, { token: deviceToken, ...more });
    cleanup.add(() => mac.terminate());
    return mac;
  };
  const join = async (locationId: string, more?: { answerPings?: boolean }) => {
    const mac = await connect(more);
    await mac.register(locationId);
    return mac;
  };
  return { house, connect, join };
}

/** What the Macs sent so far has been heard, answers to pings included. */
async function heard(house: MacHouse, macs: readonly { mac: Mac; locationId: string }[]): Promise<void> {
  for (const { locationId } of macs) expect(await house.send(locationId)).toBe('written');
  // Behind its pings each Mac gets this frame, and behind their answers it sends one.
  await Promise.all(macs.map(({ mac }) => mac.nextFrame('send')));
  const before = house.crm.ignored;
  for (const { mac } of macs) mac.send({ type: 'hello' });
  await until(() => house.crm.ignored === before + macs.length);
}

describe('heartbeats', () => {
  it('M1 every Mac is pinged once per interval, not all at the same moment, and stays while it answers', async () => {
    const clock = new FakeClock();
    const { house, join } = await start({ clock, heartbeatSec: 6 });
    const macs = await Promise.all(
      Array.from({ length: 12 }, async (_, index) => {
        const locationId = `loc${index}`;
        return { mac: await join(locationId), locationId };
      }),
    );
    const grew: number[] = [];
    for (let second = 0; second < 18; second++) {
      const pings = () => macs.reduce((sum, { mac }) => sum + mac.pings, 0);
      const had = pings();
      await clock.advance(1000);
      await heard(house, macs);
      grew.push(pings() - had);
    }
    expect(macs.map(({ mac }) => [mac.isOpen, mac.pings])).toEqual(macs.map(() => [true, 3]));
    expect(Math.max(...grew)).toBeLessThan(macs.length);
    expect(house.gateway.sessions).toBe(12);
  });

  it('M1 a Mac that is there but silent is gone after two missed heartbeats', async () => {
    const clock = new FakeClock();
    const interval = 600;
    const { house, join } = await start({ clock, heartbeatSec: interval / 1000 });
    const silent = await join('loc1', { answerPings: false });
    const alive = await join('loc2');
    let took = 0;
    for (; (await house.send('loc1')) === 'written'; took += 100) {
      await clock.advance(100);
      await heard(house, [{ mac: alive, locationId: 'loc2' }]);
    }
    // Two beats and the grace of the second one, never before the second was sent.
    expect(took).toBeGreaterThan(interval);
    expect(took).toBeLessThan(3 * interval);
    expect((await silent.closed).code).toBe(1006);
    expect([silent.pings, alive.isOpen]).toEqual([2, true]);
    expect(await house.send('loc2')).toBe('written');
  });

  it('M1 who does not register within 10 seconds is sent away with 4008', async () => {
    const clock = new FakeClock();
    const { house, connect, join } = await start({ clock, heartbeatSec: 60 });
    const late = await connect();
    await join('loc1');
    await clock.advance(9000);
    expect(house.gateway.sessions).toBe(2);
    await clock.advance(1500);
    expect(await late.closed).toMatchObject({ code: 4008, reason: expect.stringContaining('register') });
    expect(house.gateway.sessions).toBe(1);
  });
});

describe('Macs that do not read', () => {
  const BIG = 'x'.repeat(240_000);

  it('M1 a Mac with more than 1 MB unsent is cut off and its location is free', async () => {
    const { house, join } = await start();
    const mac = await join('loc1');
    mac.pauseReading();
    const written = await flood(house, 'loc1');
    expect(written * BIG.length).toBeGreaterThan(1_000_000);
    expect(await house.send('loc1')).toBe('not_connected');
    await until(() => house.gateway.sessions === 0);
    mac.resumeReading();
    expect(await mac.closed).toMatchObject({ code: 4008 });
  });

  it('M1 a Mac that takes nothing for 10 seconds is cut off, one that takes a little is not', async () => {
    const clock = new FakeClock();
    const { house, join } = await start({ clock, heartbeatSec: 300 });
    const [stuck, slow] = [await join('loc1'), await join('loc2')];
    for (const [mac, locationId] of [
      [stuck, 'loc1'],
      [slow, 'loc2'],
    ] as const) {
      mac.pauseReading();
      await fillKernel(house, locationId);
    }
    for (let step = 0; step < 4; step++) {
      await clock.advance(3000);
      slow.resumeReading();
      await until(() => house.unsent('loc2') === 0);
      slow.pauseReading();
      await fillKernel(house, 'loc2');
    }
    await until(() => house.gateway.sessions === 1);
    stuck.resumeReading();
    expect(await stuck.closed).toMatchObject({ code: 4008 });
    expect(slow.isOpen).toBe(true);
  });

  it('M1 200 Macs that never read cost bounded memory and do not affect other Macs', async () => {
    const { house, join } = await start();
    const healthy = await join('healthy');
    const macs = await Promise.all(Array.from({ length: 200 }, (_, index) => join(`loc${index}`)));
    for (const mac of macs) mac.pauseReading();
    collectGarbage();
    const before = process.memoryUsage.rss();
    let most = before;
    let written = 0;
    for (let index = 0; index < 200; index++) {
      written += await flood(house, `loc${index}`);
      most = Math.max(most, process.memoryUsage.rss());
      if (index % 10 > 0) continue;
      expect(await house.send('healthy')).toBe('written');
      await healthy.nextFrame('send');
    }
    expect(written * BIG.length).toBeGreaterThan(200 * 1_000_000);
    expect(most - before).toBeLessThan(200 * 1_500_000);
    await until(() => house.gateway.sessions === 1);
  });

  /** Sends until the Mac cannot take more; answers how many frames it took. */
  async function flood(house: MacHouse, locationId: string): Promise<number> {
    for (let count = 0; count < 1000; count++)
      if ((await house.send(locationId, { message: BIG })) === 'not_connected') return count;
    return expect.fail('takes anything');
  }

  /** Until the system's buffers are full and a few bytes wait in ours. */
  /** Sends until bytes stay unsent. The kernel may enlarge its buffers a moment after they were full. */
  async function fillKernel(house: MacHouse, locationId: string): Promise<void> {
    for (let count = 0; count < 5000; count++) {
      if (house.unsent(locationId) > 0) await sleep(20);
      if (house.unsent(locationId) > 0) return;
      await house.send(locationId, { message: BIG });
    }
  }
});

describe('stopping', () => {
  it('M1 a node that stops refuses newcomers with 503 and sends its Macs away with 1001, over time', async () => {
    const clock = new FakeClock();
    const { house, join, connect } = await start({ clock });
    const macs = await Promise.all(Array.from({ length: 60 }, (_, index) => join(`loc${index}`)));
    const drained = house.gateway.drain(600);
    await expect(connect()).rejects.toMatchObject({ status: 503 });
    await clock.advance(200);
    expect(house.gateway.sessions).toBeGreaterThan(20);
    expect(house.gateway.sessions).toBeLessThan(40);
    await clock.advance(400);
    for (const mac of macs) expect(await mac.closed).toMatchObject({ code: 1001 });
    await drained;
    expect(house.gateway.sessions).toBe(0);
    expect(await house.switchboard.boundMacs()).toEqual([]);
  });

  it('M1 a Mac that does not answer the close frame is cut off when the time is over', async () => {
    const { house, join } = await start();
    const mac = await join('loc1');
    mac.pauseReading();
    await house.gateway.drain(100);
    await house.gateway.close();
    mac.resumeReading();
    expect([1001, 1006]).toContain((await mac.closed).code);
  });
});
