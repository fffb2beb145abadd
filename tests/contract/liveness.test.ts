import { until } from '@footbridge/testkit/until';
import { describe, expect, it } from 'vitest';

import { bridges, LOCATION } from './test-bridge.ts';
import type { Json, TestBridge } from './test-bridge.ts';

const start = bridges();

interface Liveness {
  readonly state: string;
  readonly reason: { readonly kind: string; readonly sentence: string; readonly since: string } | null;
}

const HEALTHY = {
  type: 'state',
  capabilities: [],
  messages: { running: true, signedIn: true, store: 'readable' },
  permissions: { fullDisk: 'granted', automation: 'granted' },
  queue: { pending: 0 },
  lastSentAt: null,
  lastReceivedAt: null,
};

const livenessAt = async (bridge: TestBridge, path: string): Promise<Liveness | null | undefined> => {
  const { body } = await bridge.operator('GET', path);
  const list = (body['tenants'] ?? body['locations']) as (Json & { liveness: Liveness | null })[];
  return list.find(({ locationId }) => locationId === LOCATION)?.liveness;
};

/** Skips time until the issue is open. Resolves with the seconds that it took. */
async function secondsUntilIssue(bridge: TestBridge, kind: string): Promise<number> {
  const from = bridge.clock.now();
  await until(async () => {
    await bridge.clock.skip(5000);
    const { body } = await bridge.operator('GET', '/operator/issues');
    return (body['issues'] as { kind: string }[]).some((issue) => issue.kind === kind);
  });
  return (bridge.clock.now() - from) / 1000;
}

describe('liveness of a line', () => {
  it.each([
    ['Messages signed out', 'messages_signed_out', { messages: { running: true, signedIn: false } }],
    ['a lost permission', 'permission_lost', { permissions: { fullDisk: 'denied', automation: 'granted' } }],
    ['an unreadable message store', 'store_unreadable', { messages: { signedIn: true, store: 'locked' } }],
    ['a frozen Messages', 'queue_old', { queue: { pending: 1, oldestSec: 0 } }],
    [
      'test texts that no longer arrive',
      'canary_failed',
      { canary: { lastOkAt: '2026-11-15T09:00:00Z', failedSince: '2026-11-15T09:12:00Z', code: 'TIMEOUT' } },
    ],
  ])('S6 reports %s within five minutes', async (_name, kind, change) => {
    const bridge = await start({ stoppedClock: true });
    const mac = await bridge.mac();
    mac.send(HEALTHY);
    await mac.roundTrip();
    await bridge.clock.skip(600_000);
    expect(await livenessAt(bridge, '/operator/tenants')).toEqual({ state: 'alive', reason: null });

    mac.send({ ...HEALTHY, ...change });
    await mac.roundTrip();
    expect(await secondsUntilIssue(bridge, kind)).toBeLessThanOrEqual(300);
    for (const path of ['/operator/tenants', '/operator/locations'])
      expect(await livenessAt(bridge, path)).toMatchObject({ state: 'dead', reason: { kind } });
    const { body } = await bridge.operator('GET', '/operator/tenants');
    expect(JSON.stringify(body)).not.toContain('isDead');
    const metrics = await (await fetch(`${bridge.bridge.operatorUrl}/metrics`)).text();
    expect(metrics).toContain('footbridge_lines{state="dead"} 1');

    mac.send(HEALTHY);
    await mac.roundTrip();
    expect(await livenessAt(bridge, '/operator/tenants')).toEqual({ state: 'alive', reason: null });
  });

  it('S6 reports a Mac that takes texts and reports neither its state nor a result', async () => {
    const bridge = await start({ stoppedClock: true });
    await bridge.mac();
    await bridge.webhook({ messageId: 'm1' });
    expect(await secondsUntilIssue(bridge, 'queue_old')).toBeLessThanOrEqual(300);
    expect(await livenessAt(bridge, '/operator/locations')).toMatchObject({
      state: 'dead',
      reason: { sentence: expect.stringContaining('none has been sent since') },
    });
  });

  it('S6 calls a line degraded when its last texts failed', async () => {
    const bridge = await start({ stoppedClock: true });
    const mac = await bridge.mac();
    for (let index = 0; index < 5; index++) {
      await bridge.webhook({ messageId: `m${index}`, phone: `+1415555020${index}` });
      const frame = await until(async () =>
        (await bridge.sent()).find(({ messageId }) => messageId === `m${index}`),
      );
      mac.send({
        type: 'message_status',
        seq: index + 1,
        requestId: frame.requestId,
        messageId: frame.messageId,
        status: 'failed',
        error: { code: 'IMESSAGE_ERROR', message: 'Not sent.' },
      });
      await mac.roundTrip();
    }
    expect(await secondsUntilIssue(bridge, 'sends_failing')).toBeLessThanOrEqual(300);
    expect(await livenessAt(bridge, '/operator/tenants')).toMatchObject({ state: 'degraded' });
  });

  it('S6 reports a line as degraded when its test texts have never arrived', async () => {
    const bridge = await start({});
    const mac = await bridge.mac();
    mac.send({ ...HEALTHY, canary: { lastOkAt: null, failedSince: '2026-11-15T09:12:00Z' } });
    await mac.roundTrip();
    expect(await livenessAt(bridge, '/operator/tenants')).toMatchObject({
      state: 'degraded',
      reason: { kind: 'canary_failed', since: '2026-11-15T09:12:00.000Z' },
    });
    mac.send({ ...HEALTHY, canary: { lastOkAt: '2026-11-15T09:00:00Z' } });
    await mac.roundTrip();
    expect(await livenessAt(bridge, '/operator/tenants')).toMatchObject({ state: 'alive' });
  });

  it('S6 has no liveness for a location that never had a Mac', async () => {
    const bridge = await start();
    expect(await livenessAt(bridge, '/operator/tenants')).toBeNull();
  });
});
