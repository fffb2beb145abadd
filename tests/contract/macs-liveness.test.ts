import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { collectGarbage } from '@footbridge/testkit/collect-garbage';
import { signedRequest } from '@footbridge/testkit/keys';
import type { Mac } from '@footbridge/testkit/mac';
import { until } from '@footbridge/testkit/until';
import { describe, expect, it } from 'vitest';

import { GOOD, bridges } from './test-bridge.ts';
import type { TestBridge, TestBridgeOptions } from './test-bridge.ts';

const startBridge = bridges();

async function start(options: TestBridgeOptions = {}) {
  const bridge = await startBridge({ oauth: 'off', ...options });
  const connect = (more: { answerPings?: boolean } = {}) => bridge.connect(more);
  const join = async (locationId: string, more?: { answerPings?: boolean }) => {
    const mac = await connect(more);
    await mac.register(locationId);
    return mac;
  };
  return { bridge, connect, join };
}

const bound = (bridge: TestBridge) => bridge.metric('footbridge_macs_bound');

/** Resolves when the service has received everything that the Macs have sent, including pongs. */
async function heard(bridge: TestBridge, macs: readonly { mac: Mac; locationId: string }[]): Promise<void> {
  for (const { locationId } of macs) expect(await bridge.reaches(locationId)).toBe(true);
  // Each Mac gets this frame after its pings, and pings the service after its pongs.
  await Promise.all(macs.map(({ mac }) => mac.nextFrame('send')));
  await Promise.all(macs.map(({ mac }) => mac.roundTrip()));
}

describe('heartbeats', () => {
  it('M1 every Mac is pinged once per interval, not all at the same moment, and stays connected while it sends pongs', async () => {
    const { bridge, join } = await start({ stoppedClock: true, env: { MAC_HEARTBEAT_SEC: '6' } });
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
      await bridge.clock.skip(1000);
      await heard(bridge, macs);
      grew.push(pings() - had);
    }
    expect(macs.map(({ mac }) => [mac.isOpen, mac.pings])).toEqual(macs.map(() => [true, 3]));
    expect(Math.max(...grew)).toBeLessThan(macs.length);
    expect(await bound(bridge)).toBe(12);
  });

  it('M1 a Mac that sends no pongs is disconnected after two heartbeats', async () => {
    const interval = 1000;
    const { bridge, join } = await start({ stoppedClock: true, env: { MAC_HEARTBEAT_SEC: '1' } });
    const silent = await join('loc1', { answerPings: false });
    const alive = await join('loc2');
    let took = 0;
    for (; await bridge.reaches('loc1'); took += 100) {
      await bridge.clock.skip(100);
      await heard(bridge, [{ mac: alive, locationId: 'loc2' }]);
    }
    // Two beats and the grace period of the second one, never before the second was sent.
    expect(took).toBeGreaterThan(interval);
    expect(took).toBeLessThan(3 * interval);
    expect((await silent.closed).code).toBe(1006);
    expect([silent.pings, alive.isOpen]).toEqual([2, true]);
    expect(await bridge.reaches('loc2')).toBe(true);
  });

  it('M1 a Mac that does not register within 10 seconds is disconnected with 4008', async () => {
    const { bridge, connect, join } = await start({ stoppedClock: true });
    const late = await connect();
    const other = await join('loc1');
    await bridge.clock.skip(9000);
    await late.roundTrip();
    expect(late.isOpen).toBe(true);
    await bridge.clock.skip(1500);
    // The heartbeat wheel checks the deadlines.
    expect(await bridge.clock.skipThrough(late.closed)).toMatchObject({
      code: 4008,
      reason: expect.stringContaining('register'),
    });
    expect(other.isOpen).toBe(true);
  });
});

describe('Macs that do not read', () => {
  /** Makes a frame of 180 KB: each of these characters takes three bytes. */
  const BIG = {
    message: '中'.repeat(20_000),
    attachments: Array.from({ length: 20 }, () => `https://x.example/${'中'.repeat(2030)}`),
  };
  const BIG_BYTES = Buffer.byteLength(JSON.stringify(BIG));

  it('M1 a Mac with more than 1 MB of unsent data is disconnected, and its location is free', async () => {
    const { bridge, join } = await start();
    const mac = await join('loc1');
    mac.pauseReading();
    const written = await flood(bridge, 'loc1');
    expect(written * BIG_BYTES).toBeGreaterThan(1_000_000);
    expect(await bridge.reaches('loc1')).toBe(false);
    await until(async () => (await bound(bridge)) === 0);
    mac.resumeReading();
    expect(await mac.closed).toMatchObject({ code: 4008 });
  });

  it('M1 a Mac that reads nothing for 10 seconds is disconnected, and a Mac that reads slowly is not', async () => {
    const { bridge, join } = await start({ stoppedClock: true });
    const [stuck, slow] = [
      await withServiceSocket(() => join('loc1')),
      await withServiceSocket(() => join('loc2')),
    ];
    for (const [{ mac, unsent }, locationId] of [
      [stuck, 'loc1'],
      [slow, 'loc2'],
    ] as const) {
      mac.pauseReading();
      await fillKernel(bridge, locationId, unsent);
    }
    for (let step = 0; step < 4; step++) {
      await bridge.clock.skip(3000);
      // Disconnected by now. It gets the reason only if it reads within three seconds, of real time.
      if (step === 3) stuck.mac.resumeReading();
      slow.mac.resumeReading();
      await until(() => slow.unsent() === 0);
      slow.mac.pauseReading();
      await fillKernel(bridge, 'loc2', slow.unsent);
    }
    await until(async () => (await bound(bridge)) === 1);
    expect(await stuck.mac.closed).toMatchObject({ code: 4008 });
    expect(slow.mac.isOpen).toBe(true);
  });

  it('M1 Macs that never read take a bounded amount of memory and do not affect other Macs', async () => {
    const { bridge, join } = await start();
    const healthy = await join('healthy');
    const macs = await Promise.all(Array.from({ length: 10 }, (_, index) => join(`loc${index}`)));
    for (const mac of macs) mac.pauseReading();
    // The first one fills the caches of the process, too.
    let written = await flood(bridge, 'loc0');
    const before = await heldBytes();
    for (let index = 1; index < macs.length; index++) {
      written += await flood(bridge, `loc${index}`);
      expect((await heldBytes()) - before).toBeLessThan(macs.length * 1_500_000);
      expect(await bridge.reaches('healthy')).toBe(true);
      await healthy.nextFrame('send');
    }
    expect(written * BIG_BYTES).toBeGreaterThan(macs.length * 1_000_000);
    await until(async () => (await bound(bridge)) === 1);
  });

  /** The memory of this process that is in use. The buffers of garbage are freed a moment later, so the least of several readings counts. */
  async function heldBytes(): Promise<number> {
    let least = Infinity;
    for (let reading = 0; reading < 5; reading++) {
      collectGarbage();
      await sleep(20);
      const { heapUsed, external } = process.memoryUsage();
      least = Math.min(least, heapUsed + external);
    }
    return least;
  }

  /** Sends the same webhook again and again; it is signed once. */
  function bigWebhook(bridge: TestBridge, locationId: string): () => Promise<number> {
    const request = signedRequest({ ...GOOD, ...BIG, messageId: undefined, locationId }, bridge.crm.key);
    return async () => {
      const response = await fetch(`${bridge.url}/crm/webhook`, request);
      await response.arrayBuffer();
      return response.status;
    };
  }

  /** Sends until the Mac is disconnected. Returns the number of frames that were written. */
  async function flood(bridge: TestBridge, locationId: string): Promise<number> {
    const send = bigWebhook(bridge, locationId);
    for (let count = 0; count < 1000; count++) if ((await send()) === 404) return count;
    return expect.fail('the Mac was never disconnected');
  }

  /** Sends until bytes stay unsent. The kernel may enlarge its buffers a moment after they were full. */
  async function fillKernel(bridge: TestBridge, locationId: string, unsent: () => number): Promise<void> {
    const send = bigWebhook(bridge, locationId);
    for (let count = 0; count < 5000; count++) {
      if (unsent() > 0) await sleep(20);
      if (unsent() > 0) return;
      await send();
    }
  }

  /** A Mac, and the bytes that the service could not write to its socket yet. */
  async function withServiceSocket(join: () => Promise<Mac>): Promise<{ mac: Mac; unsent: () => number }> {
    let newest: Socket | undefined;
    const remember = (message: unknown) => {
      newest = (message as { socket: Socket }).socket;
    };
    subscribe('net.server.socket', remember);
    const mac = await join();
    unsubscribe('net.server.socket', remember);
    const socket = newest ?? expect.fail('no socket');
    return { mac, unsent: () => socket.writableLength };
  }
});

describe('a node that stops', () => {
  it('M1 rejects new Macs with 503 and closes the connected ones gradually with 1001', async () => {
    const { bridge, join } = await start({ stoppedClock: true });
    const macs = await Promise.all(Array.from({ length: 60 }, (_, index) => join(`loc${index}`)));
    const open = () => macs.filter((mac) => mac.isOpen).length;
    const token = await bridge.token();
    const closed = bridge.bridge.close();
    await expect(until(() => bridge.connect({ token }).then(() => false))).rejects.toMatchObject({
      status: 503,
    });
    // The first Mac is closed at once, then one every 20 ms.
    await bridge.clock.skip(590);
    await until(() => open() <= 30);
    await Promise.all(macs.filter((mac) => mac.isOpen).map((mac) => mac.roundTrip()));
    expect(open()).toBe(30);
    await bridge.clock.skipThrough(closed);
    for (const mac of macs) expect(await mac.closed).toMatchObject({ code: 1001 });
  });

  it('M1 disconnects a Mac that does not respond to the close frame in time', async () => {
    const { bridge, join } = await start();
    const mac = await join('loc1');
    mac.pauseReading();
    await bridge.close();
    mac.resumeReading();
    expect([1001, 1006]).toContain((await mac.closed).code);
  });
});
