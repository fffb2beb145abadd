import { startHttpReceiver } from '@footbridge/testkit/alert-receivers';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { runInProcess } from '../cli/run-in-process.ts';
import { LOCATION, OTHER_LOCATION, TestBridge } from './test-bridge.ts';
import type { Json, TestBridgeOptions } from './test-bridge.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const path = (locationId: string) => `/operator/locations/${locationId}/name`;

/** A service with two locations, of which one has a Mac. */
async function start(options: TestBridgeOptions = {}) {
  const bridge = await TestBridge.start(options);
  cleanup.add(() => bridge.stop());
  const mac = await bridge.mac();
  await bridge.authorise(OTHER_LOCATION);
  const list = async (what: string) =>
    (await bridge.operator('GET', `/operator/${what}`)).body[what] as Json[];
  const cli = (...args: string[]) =>
    runInProcess(['location', ...args], {
      isTTY: true,
      env: {
        FOOTBRIDGE_OPERATOR_URL: bridge.bridge.operatorUrl,
        OPERATOR_TOKEN: bridge.bridge.operatorToken,
      },
    });
  return { bridge, mac, list, cli };
}

describe('the name of a location', () => {
  it('is shown in every list until it is removed, and the search finds it', async () => {
    const { bridge, list } = await start();
    const given = await bridge.operator('PUT', path(LOCATION), { name: '  <b>Smile</b> Dental ' });
    expect(given).toEqual({ status: 200, body: { locationId: LOCATION, name: '<b>Smile</b> Dental' } });
    const named = expect.objectContaining({ locationId: LOCATION, name: '<b>Smile</b> Dental' });
    for (const what of ['locations', 'tenants']) {
      const rows = await list(what);
      expect(rows.find(({ locationId }) => locationId === LOCATION)).toEqual(named);
      expect(rows.find(({ locationId }) => locationId === OTHER_LOCATION)).not.toHaveProperty('name');
    }
    const found = await bridge.operator('GET', '/operator/tenants?search=smile%3C/B');
    expect(found.body).toMatchObject({ total: 2, found: 1, tenants: [named] });

    expect(await bridge.operator('DELETE', path(LOCATION))).toEqual({ status: 204, body: {} });
    expect((await bridge.operator('DELETE', path(LOCATION))).status).toBe(404);
    expect(JSON.stringify(await list('tenants'))).not.toContain('Smile');
    expect(await newestEntries(bridge)).toEqual([
      expect.objectContaining({ action: 'location.unnamed', target: LOCATION, detail: null }),
      expect.objectContaining({
        action: 'location.named',
        target: LOCATION,
        detail: { name: '<b>Smile</b> Dental' },
      }),
    ]);
  });

  it('cannot be blank, long, of several lines, or that of an unknown location', async () => {
    const { bridge } = await start();
    for (const name of ['', '  ', 'a\nb', 'a\u0007', 'x'.repeat(201), 7, null])
      expect([name, (await bridge.operator('PUT', path(LOCATION), { name })).status]).toEqual([name, 400]);
    expect((await bridge.operator('PUT', path('locUnknown'), { name: 'A' })).status).toBe(404);
  });

  it('is given and removed on the command line', async () => {
    const { cli } = await start();
    expect((await cli('rename', LOCATION, ' Smile\u202e Dental ')).stdout).toBe(
      `${LOCATION} is named “Smile· Dental”.\n`,
    );
    expect((await cli('list')).stdout).toMatch(new RegExp(`${LOCATION} +Smile· Dental +claimed`));
    expect((await cli('show', LOCATION)).stdout).toContain(`“Smile· Dental” (${LOCATION}) belongs to`);
    expect((await cli('rename', LOCATION, '--remove')).stdout).toBe(`${LOCATION} no longer has a name.\n`);
    expect((await cli('list')).stdout).not.toContain('Smile');
    expect((await cli('rename', 'locUnknown', 'A')).stderr).toContain('This location is unknown');
    for (const args of [[], ['A', '--remove']])
      expect((await cli('rename', LOCATION, ...args)).stderr).toContain('either a name or --remove');
  });

  it('is in alerts beside the id', async () => {
    const [webhook, slack] = await Promise.all([startHttpReceiver(), startHttpReceiver()]);
    cleanup.add(() => webhook.close());
    cleanup.add(() => slack.close());
    const { bridge, mac } = await start({
      env: {
        ALERT_WEBHOOK_URL: webhook.url,
        ALERT_WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 9).toString('base64')}`,
        ALERT_SLACK_URL: slack.url,
        ALERT_ALLOW_PRIVATE: 'true',
      },
    });
    await bridge.operator('PUT', path(LOCATION), { name: '<!channel>\u202e Smile' });
    mac.send({
      type: 'state',
      capabilities: [],
      messages: { running: true, signedIn: false },
      lastSentAt: null,
      lastReceivedAt: null,
    });
    await mac.roundTrip();
    await until(async () => {
      await bridge.clock.skip(5000);
      return webhook.taken.length > 0 && slack.taken.length > 0;
    });
    expect(JSON.parse(slack.taken[0]?.body ?? '')).toMatchObject({
      text: expect.stringContaining(`Affects: &lt;!channel&gt;  Smile (${LOCATION})\n`),
    });
    expect(JSON.parse(webhook.taken[0]?.body ?? '')).toMatchObject({
      data: {
        changes: [{ issue: { locationIds: [LOCATION], names: { [LOCATION]: '<!channel>\u202e Smile' } } }],
      },
    });
  });

  it('is an issue while several locations share it', async () => {
    const { bridge, list } = await start();
    await bridge.operator('PUT', path(LOCATION), { name: 'Smile Dental' });
    await bridge.operator('PUT', path(OTHER_LOCATION), { name: 'SMILE  Dental' });
    const issue = (isOpen: boolean) =>
      until(async () => {
        await bridge.clock.skip(15_000);
        const found = (await list('issues')).find(({ kind }) => kind === 'name_ambiguous');
        return (found !== undefined) === isOpen ? [found] : undefined;
      });
    expect(await issue(true)).toEqual([
      expect.objectContaining({
        locationIds: [LOCATION, OTHER_LOCATION],
        sentence: '2 locations have the name “Smile Dental”.',
      }),
    ]);
    await bridge.operator('DELETE', `/operator/locations/${OTHER_LOCATION}?confirmed=true`);
    await issue(false);
  });
});

const newestEntries = async (bridge: TestBridge) =>
  (await bridge.operator('GET', '/operator/audit?limit=2')).body['entries'] as Json[];
