import { until } from '@footbridge/testkit/until';
import { afterEach, expect, it } from 'vitest';

import { GOOD, LOCATION, PHONE, TestBridge } from '../contract/test-bridge.ts';
import type { TestBridgeOptions } from '../contract/test-bridge.ts';

let running: TestBridge | undefined;
afterEach(() => running?.stop());

async function start(options: TestBridgeOptions = {}) {
  running = await TestBridge.start({ stoppedClock: true, ...options });
  return running;
}

it('measures the time of an outbound message to the Mac and of its final status to the CRM', async () => {
  const bridge = await start();
  const mac = await bridge.mac();
  const messageId = bridge.crm.newMessage(LOCATION);
  await bridge.post({ ...GOOD, messageId }, { path: '/crm/webhook/sms' });
  const { requestId } = await mac.nextFrame('send');
  await bridge.clock.skip(20_000);
  mac.status({ requestId, messageId, status: 'delivered' });
  await until(async () => (await bridge.metric('footbridge_status_terminal_seconds_count')) === 1);
  expect(await bridge.metric('footbridge_status_terminal_seconds_bucket{le="10"}')).toBe(0);
  expect(await bridge.metric('footbridge_route_hop_seconds_count')).toBe(1);
  const path = '{path="/crm/webhook/sms",status="200",code=""}';
  expect(await bridge.metric(`footbridge_webhook_requests_total${path}`)).toBe(1);
});

it('counts recognised repeats', async () => {
  const bridge = await start({ env: { REPLAY_MEMORY: 'on' } });
  const mac = await bridge.mac();
  bridge.crm.addContact({ locationId: LOCATION, phone: PHONE });
  for (const body of [GOOD, { ...GOOD, messageId: undefined }])
    for (let times = 0; times < 2; times++) expect((await bridge.post(body)).status).toBe(200);
  const guid = 'guid-1';
  for (let times = 0; times < 2; times++) await mac.ack(mac.received({ sender: PHONE, text: 'Hi', guid }));
  for (const kind of ['webhook', 'message', 'inbound'])
    expect(await bridge.metric(`footbridge_dedupe_hits_total{kind="${kind}"}`), kind).toBe(1);
});

it('counts requests over a limit by the name of the limit', async () => {
  const bridge = await start({ env: { RATE_LIMIT_CRM_WEBHOOK: '1' } });
  for (let times = 0; times < 3; times++) await bridge.post({ ...GOOD, messageId: undefined });
  expect(await bridge.metric('footbridge_rate_limited_total{bucket="webhook"}')).toBe(2);
});

it('shows the age of the oldest inbound message and the open circuits while the CRM fails', async () => {
  const bridge = await start();
  const mac = await bridge.mac();
  bridge.crm.addContact({ locationId: LOCATION, phone: PHONE });
  expect(await bridge.metric('footbridge_inbound_oldest_unacked_seconds')).toBe(0);
  bridge.crm.injectFault({ match: '*', times: 1000, how: { status: 503 } });
  mac.received({ sender: PHONE, text: 'Hi' });
  await until(async () => {
    await bridge.clock.skip(10_000);
    return (await bridge.metric('footbridge_crm_circuit_open')) === 1;
  });
  expect(await bridge.metric('footbridge_inbound_oldest_unacked_seconds')).toBeGreaterThan(10);
});

it('shows seats, and messages without a result for more than ten minutes', async () => {
  const bridge = await start();
  const { key } = await bridge.createLicense(3);
  await bridge.token('mac-of-three', key);
  const mac = await bridge.mac();
  await bridge.post(GOOD);
  await mac.nextFrame('send');
  await bridge.clock.skip(540_000);
  await until(async () => (await bridge.metric('footbridge_seats_max')) === 3);
  expect(await bridge.metric('footbridge_seats_used')).toBe(2);
  expect(await bridge.metric('footbridge_stuck_pending')).toBe(0);
  await until(async () => {
    await bridge.clock.skip(60_000);
    return (await bridge.metric('footbridge_stuck_pending')) === 1;
  });
});

it('shows the unsent bytes of a Mac that does not read', async () => {
  const bridge = await start();
  const mac = await bridge.mac();
  mac.pauseReading();
  const long = { ...GOOD, messageId: undefined, message: 'é'.repeat(19_000) };
  await until(async () => {
    await Promise.all(Array.from({ length: 30 }, () => bridge.post(long)));
    return (await bridge.metric('footbridge_mac_buffer_bytes_max')) > 0;
  });
});
