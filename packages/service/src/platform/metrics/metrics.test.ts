import { describe, expect, it } from 'vitest';

import { createMetrics } from './metrics.ts';
import { METRICS, PROCESS_METRICS } from './metrics-table.ts';
import type { MetricEntry } from './metrics-table.ts';

/** All metrics, with the gauges that other parts register. */
function allMetrics() {
  const metrics = createMetrics('1.2.3');
  metrics.readAtScrape('footbridge_mac_buffer_bytes_max', () => 7);
  metrics.readAtScrape('footbridge_inbound_oldest_unacked_seconds', () => 0);
  metrics.readAtScrape('footbridge_crm_circuit_open', () => 0);
  return metrics;
}

it('renders counters and histograms under their documented names', async () => {
  const metrics = allMetrics();
  metrics.webhook('/crm/webhook', 200, '', 0.003);
  metrics.webhook('/crm/webhook/sms', 404, 'LOCATION_NOT_CONNECTED', 0.0005);
  metrics.webhook('/crm/webhook/sms', 404, 'LOCATION_NOT_CONNECTED', 20);
  metrics.crmCall('inbound', '201', 0.2);
  const { type, text } = await metrics.render();
  expect(type).toContain('text/plain');
  const lines = text.split('\n');
  expect(lines).toContain('footbridge_build_info{version="1.2.3"} 1');
  expect(lines).toContain('footbridge_webhook_requests_total{path="/crm/webhook",status="200",code=""} 1');
  expect(lines).toContain(
    'footbridge_webhook_requests_total{path="/crm/webhook/sms",status="404",code="LOCATION_NOT_CONNECTED"} 2',
  );
  expect(lines).toContain('footbridge_webhook_duration_seconds_bucket{le="0.001"} 1');
  expect(lines).toContain('footbridge_webhook_duration_seconds_bucket{le="10"} 2');
  expect(lines).toContain('footbridge_webhook_duration_seconds_count 3');
  expect(lines).toContain('footbridge_mac_buffer_bytes_max 7');
  expect(text).toMatch(/footbridge_crm_request_seconds_bucket\{[^}]*operation="inbound"[^}]*\} 1/);
});

it('puts a value into the bucket of the bound that it reaches, and into all larger ones', async () => {
  const metrics = createMetrics('1.2.3');
  for (const seconds of [0, 0.001, 0.0011, 10, 10.1]) metrics.routed(seconds);
  const { text } = await metrics.render();
  const buckets = [...text.matchAll(/^footbridge_route_hop_seconds_bucket\{le="(\S+)"\} (\d+)$/gm)];
  expect(buckets.map(([, le, count]) => [le, count])).toEqual([
    ['0.001', '2'],
    ...['0.0025', '0.005', '0.01', '0.025', '0.05', '0.1', '0.25', '0.5', '1', '2.5', '5'].map((le) => [
      le,
      '3',
    ]),
    ['10', '4'],
    ['+Inf', '5'],
  ]);
  expect(text).toContain('\nfootbridge_route_hop_seconds_count 5\n');
  const sum = /^footbridge_route_hop_seconds_sum (\S+)$/m.exec(text)?.[1];
  expect(Number(sum)).toBeCloseTo(20.1021, 9);
});

it('keeps series apart that differ in one label, and escapes the values of labels', async () => {
  const metrics = createMetrics('1.2.3');
  metrics.crmCall('inbound', '200', 0.2);
  metrics.crmCall('inbound', '429', 0.2);
  metrics.crmCall('status', '200', 0.2);
  metrics.crmCall('status', '200', 0.2);
  metrics.frameIgnored('a "reason" \\ with\na line break');
  const { text } = await metrics.render();
  const counts = [...text.matchAll(/^footbridge_crm_request_seconds_count\{(.*)\} (\d+)$/gm)];
  expect(counts.map(([, labels, count]) => [labels, count])).toEqual([
    ['operation="inbound",status="200"', '1'],
    ['operation="inbound",status="429"', '1'],
    ['operation="status",status="200"', '2'],
  ]);
  expect(text).toContain('{reason="a \\"reason\\" \\\\ with\\na line break"} 1\n');
});

it('shows counters whose labels are listed as zero before the first event', async () => {
  const { text } = await createMetrics('1.2.3').render();
  expect(text).toContain('\nfootbridge_displacements_total 0\n');
  expect(text).toContain('\nfootbridge_macs_bound 0\n');
  expect(text).toContain('\nfootbridge_webhook_duration_seconds_count 0\n');
  expect(text).toContain('\nfootbridge_oauth_refresh_total{result="dead"} 0\n');
  expect(text).toContain('\nfootbridge_status_put_total{status="failed",result="refused"} 0\n');
  expect(text).not.toContain('footbridge_webhook_requests_total{');
});

describe('the table of metrics', () => {
  const entries: [string, MetricEntry][] = Object.entries({ ...METRICS, ...PROCESS_METRICS });

  it('has exactly the metrics of the service', async () => {
    const { text } = await allMetrics().render();
    const types = [...text.matchAll(/^# TYPE (footbridge_\S+) (\w+)$/gm)].map(([, name, type]) => [
      name,
      type,
    ]);
    const listed = Object.entries(METRICS).map(([name, { type }]) => [name, type]);
    expect(Object.fromEntries(types)).toEqual(Object.fromEntries(listed));
  });

  it('has only metrics of the process that exist', async () => {
    const { text } = await allMetrics().render();
    for (const [name, { type }] of Object.entries(PROCESS_METRICS))
      expect(text).toContain(`# TYPE ${name} ${type}\n`);
  });

  it.each(entries)('names %s by convention', (name, { type, labels = {} }) => {
    expect(name).toMatch(/^[a-z][a-z0-9_]*$/);
    expect(name.endsWith('_total')).toBe(type === 'counter');
    if (type === 'histogram') expect(name).toMatch(/_seconds$/);
    for (const label of Object.keys(labels)) expect(label).not.toMatch(/location|contact|phone|device|id$/i);
  });
});
