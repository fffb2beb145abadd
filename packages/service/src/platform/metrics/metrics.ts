import { Gauge, Registry, collectDefaultMetrics } from '@prometheus-io/client';
import type { Metric } from '@prometheus-io/client';

import type { Limits, Verdict } from '../limits/limits.ts';
import { SeriesCounter, SeriesHistogram } from './metrics-series.ts';
import { METRICS } from './metrics-table.ts';
import type { MetricEntry } from './metrics-table.ts';

/** Everything the service measures. No label carries a location, number or id, so the number of series does not grow with tenants. */
export interface Metrics {
  readonly webhook: (path: string, status: number, code: string, seconds: number) => void;
  readonly signatureRejected: (reason: string) => void;
  readonly deprecatedPath: (path: string) => void;
  readonly rateLimited: (bucket: string) => void;
  readonly duplicate: (kind: 'webhook' | 'event' | 'message' | 'inbound') => void;
  readonly setAside: (kind: 'outbound' | 'inbound' | 'file') => void;
  readonly routed: (seconds: number) => void;
  readonly macBound: (change: 1 | -1) => void;
  readonly displaced: () => void;
  readonly contended: () => void;
  readonly leaseLost: () => void;
  readonly takenOver: () => void;
  readonly frameIgnored: (reason: string) => void;
  readonly sendRepeated: () => void;
  readonly sendsCopied: (frames: number) => void;
  readonly sendNotConfirmed: (reason: string) => void;
  readonly inbound: (result: string) => void;
  readonly inboundLookUp: (result: string) => void;
  readonly statusCall: (status: string, result: string) => void;
  readonly statusTerminal: (seconds: number) => void;
  readonly stuckPending: (messages: number) => void;
  readonly crmCall: (operation: string, status: string, seconds: number) => void;
  readonly tokenRefresh: (result: string) => void;
  readonly seats: (seats: { readonly used: number; readonly max: number }) => void;
  /** The kind of each open issue; a kind repeats for each of its issues. */
  readonly issuesOpen: (kinds: readonly string[]) => void;
  /** The state of each line that ever had a Mac; a state repeats for each of its lines. */
  readonly lines: (states: readonly ('alive' | 'degraded' | 'dead')[]) => void;
  readonly alert: (receiver: string, result: string) => void;
  /** Registers a gauge whose value is read at each scrape. */
  readonly readAtScrape: (name: GaugeName, read: () => number) => void;
  readonly render: () => Promise<{ type: string; text: string }>;
  /** Reads all metrics, as `render` does. */
  readonly families: () => Promise<readonly MetricFamily[]>;
}

/** One metric with all its samples. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly samples: readonly MetricSample[];
}

export interface MetricSample {
  /** Includes the suffix of a histogram part, such as `_bucket`. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Parts of histograms and summaries have their own name, and some have no labels. */
interface LibrarySample {
  readonly metricName?: string;
  readonly labels?: Readonly<Record<string, unknown>>;
  readonly value: number;
}

type MetricName = keyof typeof METRICS;
type NamesOf<Type> = {
  [Name in MetricName]: (typeof METRICS)[Name]['type'] extends Type ? Name : never;
}[MetricName];
type GaugeName = NamesOf<'gauge'>;
type LabelsOf<Name extends MetricName> = (typeof METRICS)[Name] extends { labels: infer Labels }
  ? Extract<keyof Labels, string>
  : never;

/** Returns every combination of label values, or none when the table does not list the values of a label. */
function listedSeries({ labels = {} }: MetricEntry): Record<string, string>[] {
  let series: Record<string, string>[] = [{}];
  for (const [label, values] of Object.entries(labels)) {
    if (typeof values === 'string') return [];
    series = series.flatMap((one) => values.map((value) => ({ ...one, [label]: value })));
  }
  return series;
}

const NO_LABELS = {};

/** The interval of the timer that measures event loop delay. It is part of each measured value: an idle loop shows this delay. */
export const EVENT_LOOP_SAMPLE_MS = 20;

/** `version` is the version of the service. */
export function createMetrics(version: string): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({
    register: registry,
    eventLoopMonitoringPrecision: EVENT_LOOP_SAMPLE_MS,
    eventLoopUtilizationTimeout: 1000,
  });
  const definition = <Name extends MetricName>(name: Name) => {
    const { meaning, labels = {} }: MetricEntry = METRICS[name];
    return {
      name,
      help: meaning,
      labelNames: Object.keys(labels) as LabelsOf<Name>[],
    };
  };
  // The registry needs only a name and `get`, but its type asks for a class of the library.
  const register = (metric: SeriesCounter<never> | SeriesHistogram<never>) =>
    registry.registerMetric(metric as unknown as Metric);
  const counter = <Name extends NamesOf<'counter'>>(name: Name) => {
    const created = new SeriesCounter({ ...definition(name), listed: listedSeries(METRICS[name]) });
    register(created);
    return created;
  };
  const gauge = <Name extends GaugeName>(name: Name) =>
    new Gauge({ ...definition(name), registers: [registry] });
  const histogram = <Name extends NamesOf<'histogram'>>(name: Name) => {
    const listed = listedSeries(METRICS[name]);
    const created = new SeriesHistogram({ ...definition(name), listed }, METRICS[name].buckets);
    register(created);
    return created;
  };

  gauge('footbridge_build_info').set({ version }, 1);
  const webhooks = counter('footbridge_webhook_requests_total');
  const webhookSeconds = histogram('footbridge_webhook_duration_seconds');
  const signatures = counter('footbridge_signature_failures_total');
  const deprecated = counter('footbridge_deprecated_requests_total');
  const rateLimited = counter('footbridge_rate_limited_total');
  const duplicates = counter('footbridge_dedupe_hits_total');
  const setAside = counter('footbridge_set_aside_total');
  const hopSeconds = histogram('footbridge_route_hop_seconds');
  const macs = gauge('footbridge_macs_bound');
  const displacements = counter('footbridge_displacements_total');
  const contentions = counter('footbridge_contentions_total');
  const leasesLost = counter('footbridge_lease_lost_total');
  const takeOvers = counter('footbridge_device_take_overs_total');
  const ignored = counter('footbridge_mac_frames_ignored_total');
  const repeated = counter('footbridge_mac_sends_repeated_total');
  const copied = counter('footbridge_mac_sends_copied_total');
  const notConfirmed = counter('footbridge_mac_sends_not_confirmed_total');
  const inbounds = counter('footbridge_inbound_total');
  const lookUps = counter('footbridge_inbound_lookups_total');
  const uncertain = counter('footbridge_inbound_uncertain_total');
  const statuses = counter('footbridge_status_put_total');
  const terminalSeconds = histogram('footbridge_status_terminal_seconds');
  const stuck = gauge('footbridge_stuck_pending');
  const calls = histogram('footbridge_crm_request_seconds');
  const refreshes = counter('footbridge_oauth_refresh_total');
  const seatsUsed = gauge('footbridge_seats_used');
  const seatsMax = gauge('footbridge_seats_max');
  const issues = gauge('footbridge_issues_open');
  const lines = gauge('footbridge_lines');
  const alerts = counter('footbridge_alerts_total');

  return {
    webhook(path, status, code, seconds) {
      webhooks.inc({ path, status, code });
      webhookSeconds.observe(NO_LABELS, seconds);
    },
    signatureRejected: (reason) => signatures.inc({ reason }),
    deprecatedPath: (path) => deprecated.inc({ path }),
    rateLimited: (bucket) => rateLimited.inc({ bucket }),
    duplicate: (kind) => duplicates.inc({ kind }),
    setAside: (kind) => setAside.inc({ kind }),
    routed: (seconds) => hopSeconds.observe(NO_LABELS, seconds),
    macBound: (change) => macs.inc(change),
    displaced: () => displacements.inc(NO_LABELS),
    contended: () => contentions.inc(NO_LABELS),
    leaseLost: () => leasesLost.inc(NO_LABELS),
    takenOver: () => takeOvers.inc(NO_LABELS),
    frameIgnored: (reason) => ignored.inc({ reason }),
    sendRepeated: () => repeated.inc(NO_LABELS),
    sendsCopied: (frames) => copied.inc(NO_LABELS, frames),
    sendNotConfirmed: (reason) => notConfirmed.inc({ reason }),
    inbound(result) {
      inbounds.inc({ result });
      if (result === 'repeated') duplicates.inc({ kind: 'inbound' });
    },
    inboundLookUp(result) {
      lookUps.inc({ result });
      if (result === 'unknown') uncertain.inc(NO_LABELS);
    },
    statusCall: (status, result) => statuses.inc({ status, result }),
    statusTerminal: (seconds) => terminalSeconds.observe(NO_LABELS, seconds),
    stuckPending: (messages) => stuck.set(messages),
    crmCall: (operation, status, seconds) => calls.observe({ operation, status }, seconds),
    tokenRefresh: (result) => refreshes.inc({ result }),
    seats({ used, max }) {
      seatsUsed.set(used);
      seatsMax.set(max);
    },
    issuesOpen(kinds) {
      issues.reset();
      for (const kind of kinds) issues.inc({ kind });
    },
    lines(states) {
      for (const state of ['alive', 'degraded', 'dead'] as const)
        lines.set({ state }, states.filter((one) => one === state).length);
    },
    alert: (receiver, result) => alerts.inc({ receiver, result }),
    readAtScrape(name, read) {
      const collect = (): void => created.set(read());
      const created = new Gauge({ ...definition(name), registers: [registry], collect });
    },
    async families() {
      const families = await registry.getMetricsAsJSON();
      return families.map(({ name, help, type, values }) => ({
        name,
        help,
        type,
        samples: values.map((sample: LibrarySample) => ({
          name: sample.metricName ?? name,
          labels: Object.fromEntries(
            Object.entries(sample.labels ?? {}).map(([label, value]) => [label, String(value)]),
          ),
          value: sample.value,
        })),
      }));
    },
    async render() {
      return { type: registry.contentType, text: await registry.metrics() };
    },
  };
}

/** Calls `count` with the name of the limit for each rejected request. */
export function countRejections(limits: Limits, count: (name: string) => void): Limits {
  return {
    take(limit, key) {
      const verdict = limits.take(limit, key);
      const look = ({ allowed }: Verdict) => void (allowed || count(limit.name));
      if (verdict instanceof Promise) void verdict.then(look);
      else look(verdict);
      return verdict;
    },
    peek: (limit, key) => limits.peek(limit, key),
    close: () => limits.close(),
  };
}
