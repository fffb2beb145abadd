import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from '@prometheus-io/client';

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

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({
    register: registry,
    eventLoopMonitoringPrecision: 20,
    eventLoopUtilizationTimeout: 1000,
  });
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Counter({ name: `footbridge_${name}`, help, labelNames: [...labelNames], registers });
  const seconds = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Histogram({
      name: `footbridge_${name}`,
      help,
      labelNames: [...labelNames],
      registers,
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    });

  const webhooks = counter('webhook_requests_total', 'Webhook requests by answer.', ['status', 'code']);
  const webhookSeconds = seconds('webhook_duration_seconds', 'Time from the whole body to the answer.');
  const signatures = counter('signature_failures_total', 'Webhooks refused for their signature.', ['reason']);
  const macs = new Gauge({ name: 'footbridge_macs_bound', help: 'Macs bound on this node.', registers });
  const displacements = counter('displacements_total', 'Macs displaced by another Mac.');
  const contentions = counter(
    'contentions_total',
    'Binds put off because several Macs fight for one location.',
  );
  const ignored = counter('mac_frames_ignored_total', 'Frames of Macs that were ignored.', ['reason']);
  const inbounds = counter('inbound_total', 'Inbound messages by result.', ['result']);
  const statuses = counter('status_put_total', 'Status calls by status and result.', ['status', 'result']);
  const calls = seconds('crm_request_seconds', 'Calls to the CRM.', ['operation', 'status']);
  const refreshes = counter('oauth_refresh_total', 'Token refreshes by result.', ['result']);

  return {
    webhook(status, code, took) {
      webhooks.inc({ status, code });
      webhookSeconds.observe(took);
    },
    signatureRefused: (reason) => signatures.inc({ reason }),
    macBound: (change) => macs.inc(change),
    displaced: () => displacements.inc(),
    contended: () => contentions.inc(),
    frameIgnored: (reason) => ignored.inc({ reason }),
    inbound: (result) => inbounds.inc({ result }),
    statusCall: (status, result) => statuses.inc({ status, result }),
    crmCall: (operation, status, took) => calls.observe({ operation, status }, took),
    tokenRefresh: (result) => refreshes.inc({ result }),
    async render() {
      return { type: registry.contentType, text: await registry.metrics() };
    },
  };
}
