import { MAX_FRAME_BYTES, writeFrame } from '@footbridge/protocol/frames';
import type { SendFrame } from '@footbridge/protocol/frames';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { startFaultProxy } from '@footbridge/testkit/fault-proxy';
import { SocketClosedError, connectMac } from '@footbridge/testkit/mac';
import type { Mac } from '@footbridge/testkit/mac';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { LOCATION, OTHER_LOCATION, TestBridge } from './test-bridge.ts';
import type { TestBridgeOptions } from './test-bridge.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const RECEIVED = { capabilities: ['received'] };
const DEVICE = 'mac-that-confirms';
const PER_SEC = 20;

async function start(options?: TestBridgeOptions) {
  const bridge = await TestBridge.start(options);
  cleanup.add(() => bridge.stop());
  const tokens = new Map<string, string>();
  /** A Mac; the same device when it is named again. With `works` it confirms and reports every message. */
  const join = async (
    deviceId = DEVICE,
    locationId = LOCATION,
    { url = bridge.url, registration = RECEIVED, works = false } = {},
  ) => {
    const token = tokens.get(deviceId) ?? (await bridge.token(deviceId));
    tokens.set(deviceId, token);
    const mac = await connectMac(url, { token });
    cleanup.add(() => mac.terminate());
    if (works) mac.confirmAll();
    if (works) void reportAll(mac);
    await mac.register(locationId, registration);
    return mac;
  };
  /** Sends a webhook. Returns its request id, or undefined when it was not accepted. */
  const send = async (fields: Parameters<TestBridge['webhook']>[0] = {}) => {
    const { status, answer } = await bridge.webhook(fields);
    return status === 200 ? (answer as { requestId: string }).requestId : undefined;
  };
  return { bridge, join, send };
}

/** Reports every `send` as delivered, one after the other, until the connection ends. */
async function reportAll(mac: Mac): Promise<void> {
  try {
    for (;;) {
      const { requestId, messageId } = await mac.nextFrame('send', 600_000);
      await mac.ack(mac.status({ requestId, messageId, status: 'delivered' }), 600_000);
    }
  } catch (error) {
    if (!(error instanceof SocketClosedError)) throw error;
  }
}

const sends = (mac: Mac): SendFrame[] =>
  mac.frames.filter((frame): frame is SendFrame => frame.type === 'send');
const idsOf = (frames: readonly SendFrame[]) => frames.map(({ requestId }) => requestId);

describe('a link that is dead while it looks alive', () => {
  it.each([5, 25, 60])(
    'M10 for %i s: every webhook with a 200 reaches the Mac, in order, and is reported as delivered',
    async (seconds) => {
      const { bridge, join, send } = await start({
        stoppedClock: true,
        env: { RATE_LIMIT_CRM_CALLS: '100000' },
      });
      const proxy = await startFaultProxy({ to: bridge.url });
      cleanup.add(() => proxy.stop());
      const accepted = new Map<string, string>();
      const webhook = async (messageId: string) => {
        const requestId = await send({ messageId });
        if (requestId !== undefined) accepted.set(messageId, requestId);
        await bridge.clock.skip(1000 / PER_SEC);
      };
      const isReported = (messageId: string) => () => bridge.crm.accepted(messageId).length === 2;
      const throughProxy = { url: proxy.url(bridge.url), works: true };
      const first = await join(DEVICE, LOCATION, throughProxy);
      for (let index = 0; index < PER_SEC; index++) {
        await webhook(`before-${index}`);
        await until(isReported(`before-${index}`));
      }

      const dead = proxy.add({ type: 'timeout' });
      for (let index = 0; index < seconds * PER_SEC; index++) await webhook(`dead-${index}`);
      dead.remove();

      const second = await join(DEVICE, LOCATION, throughProxy);
      for (let index = 0; index < PER_SEC; index++) await webhook(`after-${index}`);
      const all = [...accepted.values()];
      await until(() => idsOf(sends(second)).includes(all.at(-1) ?? ''));

      expect(all.length).toBeGreaterThanOrEqual(7 * PER_SEC);
      const frames = [...sends(first), ...sends(second)];
      const fresh = frames.filter(({ again }) => again !== true);
      // What the first connection swallowed comes again over the second; nothing comes twice without saying so.
      expect(new Set(idsOf(fresh)).size).toBe(fresh.length);
      expect([...new Set(idsOf(frames))]).toEqual(all);
      for (const messageId of accepted.keys())
        await until(isReported(messageId), { what: `statuses of ${messageId}` });
      const statuses = [...accepted.keys()].map((messageId) => bridge.crm.accepted(messageId).join(' '));
      expect(new Set(statuses)).toEqual(new Set(['pending delivered']));
    },
  );

  it('M10 gets 404 within 6 seconds, long before two heartbeats, and no webhook is lost', async () => {
    const { bridge, join, send } = await start({ stoppedClock: true });
    const proxy = await startFaultProxy({ to: bridge.url });
    cleanup.add(() => proxy.stop());
    await join(DEVICE, LOCATION, { url: proxy.url(bridge.url) });
    proxy.add({ type: 'timeout' });
    const accepted: string[] = [];
    const since = bridge.clock.monotonic();
    for (let requestId = await send(); requestId !== undefined; requestId = await send()) {
      accepted.push(requestId);
      await bridge.clock.skip(100);
    }
    const took = bridge.clock.monotonic() - since;
    expect(took).toBeGreaterThan(4000);
    expect(took).toBeLessThan(6000);
    const back = await join();
    await until(() => sends(back).length === accepted.length);
    expect(idsOf(sends(back))).toEqual(accepted);
  });

  it('M10 is not suspected while the Mac answers pings', async () => {
    const { bridge, join, send } = await start({ stoppedClock: true });
    const mac = await join();
    expect(await send()).toBeDefined();
    for (let second = 0; second < 20; second++) {
      await bridge.clock.skip(1000);
      await mac.roundTrip();
    }
    expect([mac.isOpen, mac.pings > 0]).toEqual([true, true]);
    expect(await send()).toBeDefined();
  });
});

describe('unconfirmed frames', () => {
  it('M10 come again with `again` after a reconnect, before anything newer, until they are confirmed', async () => {
    const { join, send } = await start();
    const first = await join();
    const [a = '', b = '', c = ''] = [await send(), await send(), await send()];
    await until(() => sends(first).length === 3);
    first.confirm(b);
    await first.roundTrip();
    first.terminate();
    const second = await join();
    const d = await send();
    await until(() => sends(second).length === 3);
    expect(sends(second).map(({ requestId, again }) => [requestId, again])).toEqual([
      [a, true],
      [c, true],
      [d, undefined],
    ]);
    second.confirm(a);
    // A report says that the Mac has the request, too.
    second.status({ requestId: c, status: 'delivered' });
    await second.roundTrip();
    second.terminate();
    const third = await join();
    await third.roundTrip();
    expect(idsOf(sends(third))).toEqual([d]);
  });

  it('M10 come again when the old connection is found dead only by the new one', async () => {
    const { join, send } = await start();
    const first = await join();
    const requestId = await send();
    first.pauseReading();
    const second = await join();
    await until(() => sends(second).length === 1);
    expect(sends(second)).toMatchObject([{ requestId, again: true }]);
  });

  it('M10 never reach another device that took the location over', async () => {
    const { join, send } = await start();
    const first = await join();
    const requestId = await send();
    const other = await join('another-mac');
    const later = await send();
    await until(() => sends(other).length === 1);
    expect(idsOf(sends(other))).toEqual([later]);
    expect((await first.closed).code).toBe(4501);
    other.confirm(later ?? '');
    const back = await join();
    await until(() => sends(back).length === 1);
    expect(sends(back)).toMatchObject([{ requestId, again: true }]);
  });

  it('M10 do not come again to a Mac that does not confirm', async () => {
    const { join, send } = await start();
    const first = await join(DEVICE, LOCATION, { registration: { capabilities: [] } });
    await send();
    await until(() => sends(first).length === 1);
    first.terminate();
    const second = await join();
    await second.roundTrip();
    expect(sends(second)).toEqual([]);
  });

  it('M10 of one Mac are not touched by the confirmations of another', async () => {
    const { bridge, join, send } = await start();
    await bridge.authorise(OTHER_LOCATION);
    const mac = await join();
    const stranger = await join('stranger-mac', OTHER_LOCATION);
    const requestId = (await send()) ?? '';
    await until(() => sends(mac).length === 1);
    for (let times = 0; times < 3; times++) stranger.confirm(requestId);
    stranger.confirm('a request that never was');
    stranger.send({ type: 'received', requestId, deviceId: DEVICE, locationId: LOCATION });
    await stranger.roundTrip();
    mac.terminate();
    const back = await join();
    await until(() => sends(back).length === 1);
    expect([idsOf(sends(back)), stranger.isOpen]).toEqual([[requestId], true]);
    for (let times = 0; times < 1100; times++) stranger.confirm('a flood');
    expect((await stranger.closed).code).toBe(4000);
  });

  it('M10 that are confirmed twice, or confirmed and reported, are confirmed once', async () => {
    const { join, send } = await start();
    const first = await join();
    const [a = '', b = '', c = ''] = [await send(), await send(), await send()];
    await until(() => sends(first).length === 3);
    for (const requestId of [a, a, b, a, b]) first.confirm(requestId);
    await first.ack(first.status({ requestId: b, status: 'delivered' }));
    first.confirm(b);
    await first.roundTrip();
    expect(first.isOpen).toBe(true);
    first.terminate();
    const second = await join();
    await until(() => sends(second).length === 1);
    await second.roundTrip();
    expect(idsOf(sends(second))).toEqual([c]);
  });

  it('M10 are at most 512 per Mac; what is given up is counted and in the trail', async () => {
    const { bridge, join, send } = await start();
    const first = await join();
    const all: string[] = [];
    for (let index = 0; index < 520; index++) all.push((await send()) ?? '');
    await until(() => sends(first).length === 520);
    first.terminate();
    const second = await join();
    await until(() => sends(second).length === 512);
    await second.roundTrip();
    expect(idsOf(sends(second))).toEqual(all.slice(8));
    expect(await bridge.metric('footbridge_mac_sends_not_confirmed_total')).toBe(8);
    expect(await bridge.metric('footbridge_mac_sends_repeated_total')).toBe(512);
    const trail = await bridge.journalled(all[0], 'not_confirmed');
    expect(trail.steps.find(({ step }) => step === 'not_confirmed')?.detail).toEqual({ reason: 'full' });
  });

  it('M10 T53 are recorded as resent only once when a Mac keeps reconnecting', async () => {
    const { bridge, join, send } = await start();
    const first = await join();
    const requestId = await send();
    await until(() => sends(first).length === 1);
    first.terminate();
    for (let times = 0; times < 3; times++) {
      const mac = await join();
      await until(() => sends(mac).length === 1);
      mac.terminate();
    }
    expect(await bridge.metric('footbridge_mac_sends_repeated_total')).toBe(3);
    const { steps } = await bridge.journalled(requestId, 'written');
    expect(steps.filter(({ detail }) => detail?.['again'] === true)).toHaveLength(1);
  });

  it('M10 are given up after ten minutes', async () => {
    const { bridge, join, send } = await start();
    const first = await join();
    const requestId = await send();
    await until(() => sends(first).length === 1);
    first.terminate();
    await bridge.clock.skip(610_000);
    const second = await join();
    await second.roundTrip();
    expect(sends(second)).toEqual([]);
    const trail = await bridge.journalled(requestId, 'not_confirmed');
    expect(trail.steps.at(-1)).toMatchObject({ step: 'not_confirmed', detail: { reason: 'expired' } });
  });

  it('M10 of the maximum size come again, although `again` makes them longer', async () => {
    const { join, send } = await start({ env: { MESSAGE_BODY_MAX_LENGTH_CHARS: '30000' } });
    const first = await join();
    // Six bytes per character of the text, and three per character of the URLs.
    const padded = (bytes: number) => ({
      messageId: 'large',
      message: '\u0001'.repeat(22_000) + 'x'.repeat(bytes),
      attachments: Array.from({ length: 20 }, () => `https://example.com/${'€'.repeat(2028)}`),
    });
    await send(padded(0));
    const frame = await first.nextFrame('send');
    first.confirm(frame.requestId);
    const room = MAX_FRAME_BYTES - Buffer.byteLength(writeFrame({ ...frame, again: true }));
    expect(await send(padded(room + 1))).toBeUndefined();
    const requestId = await send(padded(room));
    await until(() => sends(first).length === 2);
    first.terminate();
    const second = await join();
    await until(() => sends(second).length === 1);
    expect(sends(second)).toMatchObject([{ requestId, again: true }]);
  });

  it('M10 large ones come again as fast as the Mac reads them', async () => {
    const { join, send } = await start();
    const first = await join();
    const all: string[] = [];
    for (let index = 0; index < 40; index++) all.push((await send({ message: 'x'.repeat(20_000) })) ?? '');
    await until(() => sends(first).length === 40);
    first.terminate();
    const second = await join(DEVICE, LOCATION, { works: true });
    const last = await send();
    await until(() => idsOf(sends(second)).includes(last ?? ''));
    expect(idsOf(sends(second))).toEqual([...all, last]);
  });
});

describe('a service that stops', () => {
  it('M10 waits until the Macs have confirmed what was written to them', async () => {
    const { bridge, join, send } = await start();
    const mac = await join();
    const requestId = (await send()) ?? '';
    await until(() => sends(mac).length === 1);
    let isClosed = false;
    const closing = bridge.bridge.close().then(() => (isClosed = true));
    await bridge.clock.skip(2000);
    await mac.roundTrip();
    expect([mac.isOpen, isClosed]).toEqual([true, false]);
    mac.confirm(requestId);
    expect((await mac.closed).code).toBe(1001);
    await bridge.clock.skipThrough(closing);
    expect(bridge.bridge.logs.join('\n')).not.toContain('drain timed out');
  });
});
