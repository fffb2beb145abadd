import { activate } from '@footbridge/testkit/mac';
import { until } from '@footbridge/testkit/until';
import { describe, expect, it } from 'vitest';

import { runCli } from '../cli/run-cli.ts';
import { bridges, GOOD, LOCATION, OTHER_LOCATION, PHONE } from './test-bridge.ts';
import type { TestBridge } from './test-bridge.ts';

const start = bridges();

interface Issue {
  readonly kind: string;
  readonly locationIds: readonly string[] | null;
  readonly sentence: string;
  readonly action: string;
  readonly since: string;
}

const list = async (bridge: TestBridge, state = 'open') =>
  (await bridge.operator('GET', `/operator/issues?state=${state}`)).body['issues'] as Issue[];

/** Waits for the check that finds it. */
const issue = (bridge: TestBridge, kind: string, locationId?: string) =>
  until(async () => {
    await bridge.clock.skip(15_000);
    return (await list(bridge)).find(
      (one) => one.kind === kind && (locationId === undefined || one.locationIds?.includes(locationId)),
    );
  });

const gone = (bridge: TestBridge, kind: string) =>
  until(async () => {
    await bridge.clock.skip(15_000);
    return (await list(bridge)).every((one) => one.kind !== kind);
  });

const state = (permissions: Record<string, string>, queue: { pending: number; oldestSec?: number }) => ({
  type: 'state',
  capabilities: [],
  messages: { running: true, signedIn: true },
  permissions,
  queue,
  lastSentAt: null,
  lastReceivedAt: null,
});
const GRANTED = { fullDisk: 'granted', automation: 'granted' };

describe('issues', () => {
  it('S6 opens an issue when a Mac loses a permission, and closes it when the permission is back', async () => {
    const bridge = await start({});
    const mac = await bridge.mac();
    mac.send(state({ fullDisk: 'denied', automation: 'granted' }, { pending: 0 }));
    await mac.roundTrip();
    expect(await issue(bridge, 'permission_lost')).toMatchObject({
      locationIds: [LOCATION],
      sentence: 'The Mac “Test Mac” does not have the Full Disk Access permission.',
      action: expect.stringContaining('Privacy & Security > Full Disk Access'),
    });
    expect(await bridge.metric('footbridge_issues_open')).toBe(1);
    expect(bridge.log).toContain('"event":"issue.opened"');

    mac.send(state(GRANTED, { pending: 0 }));
    await mac.roundTrip();
    await gone(bridge, 'permission_lost');
    expect(bridge.log).toContain('"event":"issue.closed"');
    expect((await list(bridge, 'closed')).map(({ kind }) => kind)).toEqual(['permission_lost']);
    expect(await bridge.metric('footbridge_issues_open')).toBe(0);
  });

  it('S6 opens an issue when a Mac has been offline for five minutes', async () => {
    const bridge = await start({});
    const mac = await bridge.mac();
    mac.terminate();
    await until(async () => (await bridge.metric('footbridge_macs_bound')) === 0);
    expect(await issue(bridge, 'mac_offline')).toMatchObject({ locationIds: [LOCATION] });
    await bridge.mac();
    await gone(bridge, 'mac_offline');
  });

  it('S6 opens issues for a queue that is too old, rejected signatures and refused Macs', async () => {
    const bridge = await start({});
    const mac = await bridge.mac();
    mac.send(state(GRANTED, { pending: 3, oldestSec: 900 }));
    await mac.roundTrip();
    expect((await issue(bridge, 'queue_old')).sentence).toContain('the oldest for 15 minutes');

    for (let count = 0; count < 5; count++) await bridge.post(GOOD, { signature: 'AAAA' });
    expect(await issue(bridge, 'signatures_rejected')).toMatchObject({
      locationIds: null,
      sentence: expect.stringContaining('5 webhooks got 401'),
    });

    const { id, key } = await bridge.createLicense(1);
    for (const locationId of ['loc-b', 'loc-a'])
      await bridge.operator('PUT', `/operator/locations/${locationId}`, { licenseId: id });
    await activate(bridge.url, { licenseKey: key, deviceId: 'mac-first' });
    await activate(bridge.url, { licenseKey: key, deviceId: 'mac-second' });
    expect(await issue(bridge, 'seats_exhausted')).toMatchObject({
      locationIds: ['loc-a', 'loc-b'],
      sentence: expect.stringContaining('all 1 seat of the license “Test”'),
    });
  });

  it('S6 opens an issue when the CRM rejects most calls', async () => {
    const bridge = await start({});
    await bridge.mac();
    bridge.crm.injectFault({ match: 'status', times: 100, how: { status: 403 } });
    for (let count = 0; count < 4; count++) await bridge.webhook({ messageId: `m${count}` });
    expect((await issue(bridge, 'crm_rejecting')).sentence).toContain('the last one with 403');
  });

  it('S6 opens an issue when the CRM fails before an inbound message is posted', async () => {
    const bridge = await start({});
    const mac = await bridge.mac();
    bridge.crm.injectFault({ match: 'duplicate', times: 100, how: { status: 500 } });
    mac.received({ sender: PHONE, text: 'Hi' });
    expect((await issue(bridge, 'crm_rejecting', LOCATION)).sentence).toContain('the last one with 500');
    const { body } = await bridge.operator('GET', '/operator/tenants');
    expect(body['tenants']).toMatchObject([{ locationId: LOCATION, problem: { link: 'crm' } }]);
    expect(bridge.crm.callsTo('inbound')).toEqual([]);
  });

  it('S6 shows a token for one location only the issues of that location', async () => {
    const bridge = await start({});
    for (const locationId of [LOCATION, OTHER_LOCATION]) {
      const mac = await bridge.mac(locationId);
      mac.send(state({ fullDisk: 'denied', automation: 'granted' }, { pending: 0 }));
      await mac.roundTrip();
    }
    for (let count = 0; count < 5; count++) await bridge.post(GOOD, { signature: 'AAAA' });
    await issue(bridge, 'signatures_rejected');
    await issue(bridge, 'permission_lost', LOCATION);
    await issue(bridge, 'permission_lost', OTHER_LOCATION);
    const { body } = await bridge.operator('POST', '/operator/tokens', {
      label: 'Customer',
      readOnly: true,
      locations: [LOCATION],
    });
    const response = await fetch(`${bridge.bridge.operatorUrl}/operator/issues`, {
      headers: { Authorization: `Bearer ${String(body['token'])}` },
    });
    const { issues } = (await response.json()) as { issues: Issue[] };
    expect(issues.map(({ kind, locationIds }) => [kind, locationIds])).toEqual([
      ['permission_lost', [LOCATION]],
    ]);
  });

  it('S6 lists issues on the command line', async () => {
    const bridge = await start({});
    const run = (...args: string[]) =>
      runCli(['issues', ...args], process.cwd(), {
        FOOTBRIDGE_OPERATOR_URL: bridge.bridge.operatorUrl,
        OPERATOR_TOKEN: bridge.bridge.operatorToken,
      });
    expect((await run('--json')).stdout).toBe('');
    for (let count = 0; count < 5; count++) await bridge.post(GOOD, { signature: 'AAAA' });
    await issue(bridge, 'signatures_rejected');
    const { stdout, code } = await run('--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ kind: 'signatures_rejected', locationIds: null });
  });
});
