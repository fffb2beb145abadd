import { expect, it } from 'vitest';

import { createMetrics } from './metrics.ts';

it('renders counters and histograms under their documented names', async () => {
  const metrics = createMetrics();
  metrics.webhook(200, '', 0.003);
  metrics.webhook(404, 'LOCATION_NOT_CONNECTED', 0.0005);
  metrics.webhook(404, 'LOCATION_NOT_CONNECTED', 20);
  metrics.crmCall('inbound', '201', 0.2);
  const { type, text } = await metrics.render();
  expect(type).toContain('text/plain');
  const lines = text.split('\n');
  expect(lines).toContain('footbridge_webhook_requests_total{status="200",code=""} 1');
  expect(lines).toContain('footbridge_webhook_requests_total{status="404",code="LOCATION_NOT_CONNECTED"} 2');
  expect(lines).toContain('footbridge_webhook_duration_seconds_bucket{le="0.001"} 1');
  expect(lines).toContain('footbridge_webhook_duration_seconds_bucket{le="10"} 2');
  expect(lines).toContain('footbridge_webhook_duration_seconds_count 3');
  expect(text).toMatch(/footbridge_crm_request_seconds_bucket\{[^}]*operation="inbound"[^}]*\} 1/);
});

it('shows counters without labels as zero before the first event', async () => {
  const { text } = await createMetrics().render();
  expect(text).toContain('\nfootbridge_displacements_total 0\n');
  expect(text).toContain('\nfootbridge_macs_bound 0\n');
});
