import { Gauge, Registry, collectDefaultMetrics } from '@prometheus-io/client';

import { Counts, Durations } from './tallies.ts';

/** Everything the service counts. No label carries a location, number or id: the series stay few however many tenants there are. */
export interface Metrics {
  readonly webhook: (status: number, code: string, seconds: number) => void;
  readonly signatureRefused: (reason: string) => void;
  readonly macBound: (change: 1 | -1) => void;
  readonly displaced: () => void;
  readonly contended: () => void;
  readonly frameIgnored: (reason: string) => void;
  readonly inbound: (result: string) => void;
  readonly statusCall: (status: string, result: string) => void;
  readonly crmCall: (operation: string, status: string, seconds: number) => void;
  readonly tokenRefresh: (result: string) => void;
  readonly render: () => Promise<{ type: string; text: string }>;
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({
    register: registry,
    eventLoopMonitoringPrecision: 20,
    eventLoopUtilizationTimeout: 1000,
  });
  const macs = new Gauge({
    name: 'footbridge_macs_bound',
    help: 'Macs bound on this node.',
    registers: [registry],
  });

  const webhooks = new Counts({
    name: 'footbridge_webhook_requests_total',
    help: 'Webhook requests by answer.',
    labels: ['status', 'code'],
  });
  const webhookSeconds = new Durations(
    { name: 'footbridge_webhook_duration_seconds', help: 'Time from the whole body to the answer.' },
    SECONDS,
  );
  const signatures = new Counts({
    name: 'footbridge_signature_failures_total',
    help: 'Webhooks refused for their signature.',
    labels: ['reason'],
  });
  const displacements = new Counts({
    name: 'footbridge_displacements_total',
    help: 'Macs displaced by another Mac.',
  });
  const contentions = new Counts({
    name: 'footbridge_contentions_total',
    help: 'Binds put off because several Macs fight for one location.',
  });
  const ignored = new Counts({
    name: 'footbridge_mac_frames_ignored_total',
    help: 'Frames of Macs that were ignored.',
    labels: ['reason'],
  });
  const inbounds = new Counts({
    name: 'footbridge_inbound_total',
    help: 'Inbound messages by result.',
    labels: ['result'],
  });
  const statuses = new Counts({
    name: 'footbridge_status_put_total',
    help: 'Status calls by status and result.',
    labels: ['status', 'result'],
  });
  const calls = new Durations(
    {
      name: 'footbridge_crm_request_seconds',
      help: 'Calls to the CRM.',
      labels: ['operation', 'status'],
    },
    SECONDS,
  );
  const refreshes = new Counts({
    name: 'footbridge_oauth_refresh_total',
    help: 'Token refreshes by result.',
    labels: ['result'],
  });
  const tallies = [
    webhooks,
    webhookSeconds,
    signatures,
    displacements,
    contentions,
    ignored,
    inbounds,
    statuses,
    calls,
    refreshes,
  ];

  return {
    webhook(status, code, took) {
      webhooks.add(String(status), code);
      webhookSeconds.observe(took);
    },
    signatureRefused: (reason) => signatures.add(reason),
    macBound: (change) => macs.inc(change),
    displaced: () => displacements.add(),
    contended: () => contentions.add(),
    frameIgnored: (reason) => ignored.add(reason),
    inbound: (result) => inbounds.add(result),
    statusCall: (status, result) => statuses.add(status, result),
    crmCall: (operation, status, took) => calls.observe(took, operation, status),
    tokenRefresh: (result) => refreshes.add(result),
    async render() {
      const texts = [...tallies.map((tally) => tally.render()), await registry.metrics()];
      return { type: registry.contentType, text: texts.join('\n\n') };
    },
  };
}
