import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from '@prometheus-io/client';

/** Everything the service measures. No label carries a location, number or id, so the number of series does not grow with tenants. */
export interface Metrics {
  readonly webhook: (status: number, code: string, seconds: number) => void;
  readonly signatureRejected: (reason: string) => void;
  readonly deprecatedPath: (path: string) => void;
  readonly macBound: (change: 1 | -1) => void;
  readonly displaced: () => void;
  readonly contended: () => void;
  readonly takenOver: () => void;
  readonly frameIgnored: (reason: string) => void;
  readonly sendRepeated: () => void;
  readonly sendsCopied: (frames: number) => void;
  readonly sendNotConfirmed: (reason: string) => void;
  readonly inbound: (result: string) => void;
  readonly inboundLookUp: (result: string) => void;
  readonly statusCall: (status: string, result: string) => void;
  readonly crmCall: (operation: string, status: string, seconds: number) => void;
  readonly tokenRefresh: (result: string) => void;
  /** The kind of each open issue; a kind repeats for each of its issues. */
  readonly issuesOpen: (kinds: readonly string[]) => void;
  /** The state of each line that ever had a Mac; a state repeats for each of its lines. */
  readonly lines: (states: readonly ('alive' | 'degraded' | 'dead')[]) => void;
  readonly alert: (receiver: string, result: string) => void;
  readonly render: () => Promise<{ type: string; text: string }>;
  /** What there is to measure, without the metrics of the process. */
  readonly descriptions: readonly MetricDescription[];
}

export interface MetricDescription {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
}

const BUCKETS_SEC = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({
    register: registry,
    eventLoopMonitoringPrecision: 20,
    eventLoopUtilizationTimeout: 1000,
  });
  const descriptions: MetricDescription[] = [];
  function define<Label extends string>(
    type: MetricDescription['type'],
    suffix: string,
    help: string,
    labels: Label[],
  ) {
    const name = `footbridge_${suffix}`;
    descriptions.push({ name, type, help, labels });
    return { name, help, labelNames: labels, registers };
  }
  const counter = <Label extends string = never>(name: string, help: string, ...labels: Label[]) =>
    new Counter(define('counter', name, help, labels));
  const gauge = <Label extends string = never>(name: string, help: string, ...labels: Label[]) =>
    new Gauge(define('gauge', name, help, labels));
  const histogram = <Label extends string = never>(name: string, help: string, ...labels: Label[]) =>
    new Histogram({ ...define('histogram', name, help, labels), buckets: BUCKETS_SEC });

  const macs = gauge('macs_bound', 'Macs bound on this node.');
  const webhooks = counter('webhook_requests_total', 'Webhook requests by response.', 'status', 'code');
  const webhookSeconds = histogram(
    'webhook_duration_seconds',
    'Time from the complete request body to the response.',
  );
  const signatures = counter(
    'signature_failures_total',
    'Webhooks rejected because of their signature.',
    'reason',
  );
  const deprecated = counter('deprecated_requests_total', 'Requests to paths that were removed.', 'path');
  const displacements = counter('displacements_total', 'Macs displaced by another Mac.');
  const contentions = counter('contentions_total', 'Binds delayed because several Macs claim one location.');
  const takeOvers = counter(
    'device_take_overs_total',
    'Connections of a device from another address than before.',
  );
  const ignored = counter('mac_frames_ignored_total', 'Frames from Macs that were ignored.', 'reason');
  const repeated = counter(
    'mac_sends_repeated_total',
    'Messages written again to a Mac that had not confirmed them.',
  );
  const copied = counter(
    'mac_sends_copied_total',
    'Messages copied to the other nodes because their Mac did not confirm them in time.',
  );
  const notConfirmed = counter(
    'mac_sends_not_confirmed_total',
    'Messages given up before their Mac confirmed them.',
    'reason',
  );
  const inbounds = counter('inbound_total', 'Inbound messages by result.', 'result');
  const lookUps = counter(
    'inbound_lookups_total',
    'Conversations read after a lost response, by what they said about the message.',
    'result',
  );
  const statuses = counter('status_put_total', 'Status calls by status and result.', 'status', 'result');
  const calls = histogram('crm_request_seconds', 'Duration of calls to the CRM.', 'operation', 'status');
  const refreshes = counter('oauth_refresh_total', 'Token refreshes by result.', 'result');
  const issues = gauge('issues_open', 'Open issues of all nodes by kind.', 'kind');
  const alerts = counter(
    'alerts_total',
    'Attempts to send an alert, by receiver and result.',
    'receiver',
    'result',
  );
  const lines = gauge(
    'lines',
    'Lines of all nodes by whether texts get through: alive, degraded or dead.',
    'state',
  );

  return {
    descriptions,
    webhook(status, code, seconds) {
      webhooks.inc({ status, code });
      webhookSeconds.observe(seconds);
    },
    signatureRejected: (reason) => signatures.inc({ reason }),
    deprecatedPath: (path) => deprecated.inc({ path }),
    macBound: (change) => macs.inc(change),
    displaced: () => displacements.inc(),
    contended: () => contentions.inc(),
    takenOver: () => takeOvers.inc(),
    frameIgnored: (reason) => ignored.inc({ reason }),
    sendRepeated: () => repeated.inc(),
    sendsCopied: (frames) => copied.inc(frames),
    sendNotConfirmed: (reason) => notConfirmed.inc({ reason }),
    inbound: (result) => inbounds.inc({ result }),
    inboundLookUp: (result) => lookUps.inc({ result }),
    statusCall: (status, result) => statuses.inc({ status, result }),
    crmCall: (operation, status, seconds) => calls.observe({ operation, status }, seconds),
    tokenRefresh: (result) => refreshes.inc({ result }),
    issuesOpen(kinds) {
      issues.reset();
      for (const kind of kinds) issues.inc({ kind });
    },
    lines(states) {
      for (const state of ['alive', 'degraded', 'dead'] as const)
        lines.set({ state }, states.filter((one) => one === state).length);
    },
    alert: (receiver, result) => alerts.inc({ receiver, result }),
    async render() {
      return { type: registry.contentType, text: await registry.metrics() };
    },
  };
}
