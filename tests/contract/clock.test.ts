import { until } from '@footbridge/testkit/until';
import { expect, it } from 'vitest';

import { bridges, GOOD, LOCATION, PHONE } from './test-bridge.ts';
import type { TestBridge } from './test-bridge.ts';

const start = bridges();
const DAY = 86_400_000;
const HOUR = 3_600_000;
/** Their old rows are deleted every hour. */
const TABLES = [
  'messages',
  'inbound_guids',
  'assets',
  'seen_requests',
  'operator_sessions',
  'issues',
  'alerts',
];

const counts = (bridge: TestBridge) =>
  Object.fromEntries(
    TABLES.map((table) => [table, Number(bridge.rows(`SELECT count(*) AS n FROM ${table}`)[0]?.['n'])]),
  );

/** Lets an hour pass, and waits until the clock was compared. */
async function anHour(bridge: TestBridge): Promise<void> {
  for (let round = 0; round < 50; round++) {
    bridge.clock.freeze(HOUR / 50);
    await bridge.operator('GET', '/operator/issues');
    await bridge.clock.skip(100);
  }
}

async function clockIssues(bridge: TestBridge): Promise<string[]> {
  const { body } = await bridge.operator('GET', '/operator/issues');
  const issues = body['issues'] as { kind: string; sentence: string }[];
  return issues.filter(({ kind }) => kind === 'clock_doubtful').map(({ sentence }) => sentence);
}

/** A bridge with a row in each of the tables. */
async function filled(): Promise<TestBridge> {
  const bridge = await start({
    env: {
      REPLAY_MEMORY: 'on',
      ALERT_WEBHOOK_URL: 'https://127.0.0.1:9',
      ALERT_WEBHOOK_SECRET: `whsec_${'A'.repeat(44)}`,
    },
  });
  bridge.crm.addContact({ locationId: LOCATION, phone: PHONE });
  const token = await bridge.token('mac-clock');
  const mac = await bridge.connect({ token });
  await mac.register(LOCATION);
  await bridge.post({ ...GOOD, messageId: undefined });
  const uploaded = await bridge.fetch({
    path: '/mac/assets?name=note.txt',
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'X-Location-Id': LOCATION, 'Content-Type': 'text/plain' },
    body: 'A note.',
  });
  expect(uploaded.status).toBe(201);
  await mac.ack(mac.received({ sender: PHONE, text: 'Hi' }), 60_000);
  mac.send({ type: 'state', messages: { running: true, signedIn: false } });
  await mac.roundTrip();
  await until(async () => {
    await bridge.clock.skip(20_000);
    return Number(bridge.rows('SELECT count(*) AS n FROM alerts')[0]?.['n']) > 0;
  });
  mac.send({ type: 'state', messages: { running: true, signedIn: true } });
  await mac.roundTrip();
  await until(async () => {
    await bridge.clock.skip(20_000);
    return bridge.rows('SELECT id FROM issues WHERE closed_at IS NULL').length === 0;
  });
  return bridge;
}

it('T67 nothing is deleted while the clock is months ahead, and the operator sees why', async () => {
  const bridge = await filled();
  const before = counts(bridge);
  const hasRows = TABLES.filter((table) => (before[table] ?? 0) > 0);
  expect(hasRows).toEqual(['messages', 'inbound_guids', 'assets', 'seen_requests', 'issues', 'alerts']);
  for (const says of ['the time', 'nothing'] as const) {
    bridge.crm.settings.sendsDate = says === 'the time';
    bridge.crm.settings.clockAheadMs = -200 * DAY;
    bridge.clock.step(200 * DAY);
    // Its row has the wrong time.
    await bridge.post({ ...GOOD, messageId: undefined, message: says });
    for (let hour = 0; hour < 3; hour++) await anHour(bridge);
    const now = counts(bridge);
    for (const table of hasRows) expect(now[table]).toBeGreaterThanOrEqual(before[table] ?? 0);
    expect(await clockIssues(bridge)).toEqual([
      expect.stringMatching(says === 'the time' ? /200 days ahead/ : /jumped, it is 200 days ahead/),
    ]);
    bridge.clock.step(-200 * DAY);
    bridge.crm.settings.clockAheadMs = 0;
    bridge.crm.settings.sendsDate = true;
    for (let hour = 0; hour < 2; hour++) await anHour(bridge);
    await until(async () => {
      await bridge.clock.skip(20_000);
      return (await clockIssues(bridge)).length === 0;
    });
  }
  expect(bridge.log).toContain('"event":"clock.doubtful"');
  expect(bridge.log).toContain('"event":"clock.agrees"');
  expect(counts(bridge)['messages']).toBeGreaterThanOrEqual(before['messages'] ?? 0);
});

it.each(['the CRM', 'a new message'])(
  'T67 after months without running, data is deleted once %s confirms the clock',
  async (who) => {
    const bridge = await filled();
    await bridge.close();
    bridge.clock.freeze(200 * DAY);
    bridge.crm.settings.sendsDate = false;
    await bridge.restart();
    await anHour(bridge);
    expect(counts(bridge)).toMatchObject({ messages: 2, assets: 1 });
    await until(async () => {
      await bridge.clock.skip(20_000);
      return (await clockIssues(bridge)).length > 0;
    });
    if (who === 'the CRM') bridge.crm.settings.sendsDate = true;
    else await bridge.reaches(LOCATION);
    await until(async () => {
      await anHour(bridge);
      return (
        bridge.rows(`SELECT id FROM messages WHERE created_at < ${bridge.clock.now() - 100 * DAY}`).length ===
        0
      );
    });
    await until(() => counts(bridge)['assets'] === 0);
    expect(counts(bridge)).toMatchObject({ inbound_guids: 0 });
    await until(async () => {
      await bridge.clock.skip(20_000);
      return (await clockIssues(bridge)).length === 0;
    });
  },
);
