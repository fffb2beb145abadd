import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { hasPrometheus, promtool, startPrometheus } from '@footbridge/testkit/servers/prometheus';
import type { Prometheus } from '@footbridge/testkit/servers/prometheus';
import type { Mac } from '@footbridge/testkit/mac';
import { until } from '@footbridge/testkit/until';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { DASHBOARDS } from '../../scripts/grafana-dashboards.ts';
import { GOOD, LOCATION, PHONE, TestBridge } from '../contract/test-bridge.ts';
import { ALERTS, ALERTS_FILE } from './alert-rules.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

type Series = Readonly<Record<string, string>>;

const FAILED = 'footbridge_status_put_total{status="failed",result="ok"}';
const DELIVERED = 'footbridge_status_put_total{status="delivered",result="ok"}';
const REJECTED = 'footbridge_webhook_requests_total{status="401"}';
const ACCEPTED = 'footbridge_webhook_requests_total{status="200"}';

/** For each alert: samples, one per minute, for which it fires, and similar ones for which it does not. */
const CASES: readonly (readonly [alert: string, severity: string, fires: Series, quiet: Series])[] = [
  [
    'FootbridgeNodeDown',
    'critical',
    { 'up{job="footbridge"}': '0x30' },
    { 'up{job="footbridge"}': '0 1x30' },
  ],
  [
    'FootbridgeRestarting',
    'warning',
    { 'process_start_time_seconds{job="footbridge"}': '1+1x30' },
    { 'process_start_time_seconds{job="footbridge"}': '1x15 2x15' },
  ],
  [
    'FootbridgeNoMac',
    'critical',
    { footbridge_macs_bound: '0x30', footbridge_seats_used: '3x30' },
    { footbridge_macs_bound: '0x30', footbridge_seats_used: '0x30' },
  ],
  [
    'FootbridgeLinesDead',
    'warning',
    { 'footbridge_lines{state="dead"}': '2x30' },
    { 'footbridge_lines{state="dead"}': '0x30', 'footbridge_lines{state="alive"}': '2x30' },
  ],
  [
    'FootbridgeFewDelivered',
    'warning',
    { [FAILED]: '0+7x30', [DELIVERED]: '0+93x30' },
    { [FAILED]: '0+3x30', [DELIVERED]: '0+97x30' },
  ],
  [
    'FootbridgeFewDelivered',
    'critical',
    { [FAILED]: '0+20x30', [DELIVERED]: '0+80x30' },
    { [FAILED]: '0+1x30', [DELIVERED]: '0x30' },
  ],
  [
    'FootbridgeStuckMessages',
    'warning',
    { footbridge_stuck_pending: '21x30' },
    { footbridge_stuck_pending: '20x30' },
  ],
  [
    'FootbridgeInboundDelayed',
    'warning',
    { footbridge_inbound_oldest_unacked_seconds: '61x30' },
    { footbridge_inbound_oldest_unacked_seconds: '59x30' },
  ],
  [
    'FootbridgeInboundDelayed',
    'critical',
    { footbridge_inbound_oldest_unacked_seconds: '301x30' },
    { footbridge_inbound_oldest_unacked_seconds: '0x30' },
  ],
  [
    'FootbridgeInboundUncertain',
    'warning',
    { footbridge_inbound_uncertain_total: '0x10 1x20' },
    { footbridge_inbound_uncertain_total: '1x30' },
  ],
  [
    'FootbridgeSignaturesRejected',
    'critical',
    { [REJECTED]: '0+30x30', [ACCEPTED]: '0+70x30' },
    { [REJECTED]: '0+10x30', [ACCEPTED]: '0+90x30' },
  ],
  [
    'FootbridgeGrantRevoked',
    'warning',
    { 'footbridge_oauth_refresh_total{result="dead"}': '0x10 1x20' },
    { 'footbridge_oauth_refresh_total{result="ok"}': '0+1x30' },
  ],
  [
    'FootbridgeCrmFailing',
    'warning',
    { footbridge_crm_circuit_open: '1x30' },
    { footbridge_crm_circuit_open: '0x27 1x3' },
  ],
  [
    'FootbridgeOverloaded',
    'warning',
    { 'nodejs_eventloop_lag_p99_seconds{job="footbridge"}': '0.2x30' },
    { 'nodejs_eventloop_lag_p99_seconds{job="footbridge"}': '0.05x30' },
  ],
  [
    'FootbridgeLeasesLost',
    'warning',
    { 'footbridge_lease_lost_total{instance="a"}': '0x28 3x2' },
    { 'footbridge_lease_lost_total{instance="a"}': '3x30' },
  ],
  [
    'FootbridgeAlertsNotSent',
    'warning',
    { 'footbridge_alerts_total{receiver="slack",result="given_up"}': '0x10 1x20' },
    { 'footbridge_alerts_total{receiver="slack",result="failed"}': '0+1x30' },
  ],
];

describe.skipIf(!(await hasPrometheus()))('the alert rules', () => {
  it('are accepted by promtool', async () => {
    const { code, output } = await promtool(['check', 'rules', ALERTS_FILE], dirname(ALERTS_FILE));
    expect(output).toContain(`SUCCESS: ${ALERTS.length} rules found`);
    expect(code).toBe(0);
  });

  it('each fires when it should, and only then', async () => {
    const dir = await tempDir(cleanup);
    const firing = (alert: string, severity: string) =>
      `count by (alertname, severity) (ALERTS{alertname="${alert}", severity="${severity}", alertstate="firing"})`;
    const tests = CASES.flatMap(([alert, severity, fires, quiet]) =>
      [fires, quiet].map((series) => ({
        name: `${alert} ${severity}`,
        interval: '1m',
        input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
        promql_expr_test: [
          {
            expr: firing(alert, severity),
            eval_time: '30m',
            exp_samples:
              series === fires
                ? [{ labels: `{alertname="${alert}", severity="${severity}"}`, value: 1 }]
                : [],
          },
        ],
      })),
    );
    const file = join(dir, 'tests.yml');
    await writeFile(file, JSON.stringify({ rule_files: [ALERTS_FILE], evaluation_interval: '1m', tests }));
    const { code, output } = await promtool(['test', 'rules', file], dir);
    expect(output).not.toContain('FAILED');
    expect(code).toBe(0);
    const tested = CASES.map(([alert, severity]) => `${alert} ${severity}`);
    expect(tested).toEqual(ALERTS.map(({ alert, labels }) => `${alert} ${labels.severity}`));
  });
});

const SCRAPE_MS = 250;
/** Spans enough scrapes for a rate, even on a slow machine. */
const RATE_INTERVAL = '30s';

describe.skipIf(!(await hasPrometheus()))('Prometheus on the metrics of a real run', () => {
  let bridge: TestBridge;
  let prometheus: Prometheus;
  let mac: Mac;
  let traffic: Promise<void>;
  const stopping = new AbortController();

  beforeAll(async () => {
    bridge = await TestBridge.start({ env: { RATE_LIMIT_HEALTH: '1' } });
    prometheus = await startPrometheus([new URL(bridge.bridge.operatorUrl).host], SCRAPE_MS, [ALERTS_FILE]);
    bridge.crm.addContact({ locationId: LOCATION, phone: PHONE });
    mac = await bridge.mac();
    // The issues, lines and seats are counted every 15 seconds.
    traffic = (async () => {
      while (!stopping.signal.aborted) {
        const messageId = bridge.crm.newMessage(LOCATION);
        await bridge.post({ ...GOOD, messageId });
        const { requestId } = await mac.nextFrame('send');
        mac.confirm(requestId);
        await mac.ack(mac.status({ requestId, messageId, status: 'delivered' }));
        await mac.ack(mac.received({ sender: PHONE, text: 'Hi' }));
        await bridge.clock.skip(15_000);
      }
    })();
  });

  afterAll(async () => {
    stopping.abort();
    await traffic;
    await prometheus.stop();
    await bridge.stop();
  });

  const evaluated = (expression: string) =>
    prometheus.query(expression.replaceAll('$instance', '.*').replaceAll('$__rate_interval', RATE_INTERVAL));
  const hasData = (expression: string) =>
    until(async () => (await evaluated(expression)).some(({ value }) => !Number.isNaN(value)), {
      what: expression,
    });

  const panels = Object.values(DASHBOARDS).flatMap(({ title, panels: own }) =>
    own.flatMap((panel) => panel.queries.map(({ expr }) => [title, panel.title, expr, panel] as const)),
  );
  const always = panels.filter(([, , , panel]) => panel.emptyWithoutFaults !== true);
  const onFaults = panels.filter(([, , , panel]) => panel.emptyWithoutFaults === true);

  it('evaluates every rule without an error', async () => {
    await until(async () => {
      const { data } = (await (await fetch(`${prometheus.url}/api/v1/rules`)).json()) as {
        data: { groups: { rules: { health: string; lastError?: string }[] }[] };
      };
      const rules = data.groups.flatMap((group) => group.rules);
      expect(rules.flatMap(({ lastError }) => lastError ?? [])).toEqual([]);
      return rules.length === ALERTS.length && rules.every(({ health }) => health === 'ok');
    });
  });

  it.each(always)('%s, panel %s, has data: %s', async (_dashboard, _panel, expression) => {
    await hasData(expression);
  });

  it.each(onFaults)('%s, panel %s, is empty without faults: %s', async (_dashboard, _panel, expression) => {
    expect(await evaluated(expression)).toEqual([]);
  });

  it('the panels that are empty without faults have data after faults', async () => {
    // Opens an issue that stays open while time is skipped.
    const messages = { running: true, signedIn: false };
    mac.send({ type: 'state', capabilities: [], messages, lastSentAt: null, lastReceivedAt: null });
    expect((await bridge.post({ ...GOOD, contactId: undefined })).status).toBe(400);
    bridge.crm.injectFault({ match: 'status', times: 3, how: { status: 503 } });
    // Sent concurrently, because the traffic skips time and with it the window of the rate limit.
    await Promise.all(Array.from({ length: 50 }, () => fetch(`${bridge.url}/health`)));
    await Promise.all(onFaults.map(([, , expression]) => hasData(expression)));
  });
});
