import {
  choice,
  fail,
  isPercentEncoded,
  text,
  webAddress,
  wholeNumber,
} from '../../platform/settings/parsers.ts';
import { SECRET, settingIn } from '../../platform/settings/setting.ts';
import type { ValuesOf } from '../../platform/settings/setting.ts';

/** Parses `name=value,name=value`, percent-encoded, as OpenTelemetry defines it. The error never quotes the value. */
const pairs = (value: string): Record<string, string> => {
  const rule = 'must be a list such as name=value,name=value, percent-encoded';
  const entries = value.split(',').map((pair) => /^\s*([^=\s]+)\s*=(.*)$/.exec(pair) ?? fail(rule));
  if (!entries.every(([, , given = '']) => isPercentEncoded(given))) return fail(rule);
  return Object.fromEntries(
    entries.map(([, name = '', given = '']) => [name, decodeURIComponent(given.trim())]),
  );
};

const ratio = (value: string) => {
  const number = /^(?:\d+\.?\d*|\.\d+)$/.test(value) ? Number(value) : Number.NaN;
  return number <= 1 ? number : fail('must be a number from 0 to 1');
};

const setting = settingIn('Telemetry');

/** Where traces and metrics are sent. */
export const TRACING = {
  otlpEndpoint: setting(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    undefined,
    webAddress,
    'Base address of an OpenTelemetry collector, such as http://127.0.0.1:4318. Traces and metrics are sent to it as OTLP over HTTP with JSON.',
  ),
  otlpTracesEndpoint: setting(
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    undefined,
    webAddress,
    'Full address for traces. Default: OTEL_EXPORTER_OTLP_ENDPOINT followed by /v1/traces.',
  ),
  otlpMetricsEndpoint: setting(
    'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
    undefined,
    webAddress,
    'Full address for metrics. Default: OTEL_EXPORTER_OTLP_ENDPOINT followed by /v1/metrics.',
  ),
  otlpHeaders: setting(
    'OTEL_EXPORTER_OTLP_HEADERS',
    undefined,
    pairs,
    'Headers of the requests to the collector, such as authorization=Bearer%20TOKEN.',
    SECRET,
  ),
  tracesExporter: setting('OTEL_TRACES_EXPORTER', 'otlp', choice('otlp', 'none'), 'none sends no traces.'),
  metricsExporter: setting(
    'OTEL_METRICS_EXPORTER',
    'otlp',
    choice('otlp', 'none'),
    'none sends no metrics; Prometheus can still scrape them.',
  ),
  tracesSampler: setting(
    'OTEL_TRACES_SAMPLER',
    'parentbased_always_on',
    choice(
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ),
    'Which messages are traced. With parentbased_, the traceparent header of the webhook decides, if there is one.',
  ),
  tracesSamplerArg: setting(
    'OTEL_TRACES_SAMPLER_ARG',
    '1',
    ratio,
    'Fraction of messages that traceidratio traces, from 0 to 1.',
  ),
  metricExportIntervalMs: setting(
    'OTEL_METRIC_EXPORT_INTERVAL',
    '60000',
    wholeNumber(100, 3_600_000),
    'Milliseconds between exports of metrics.',
  ),
  serviceName: setting('OTEL_SERVICE_NAME', 'footbridge', text, 'Name of the service in traces and metrics.'),
  resourceAttributes: setting(
    'OTEL_RESOURCE_ATTRIBUTES',
    undefined,
    pairs,
    'Additional attributes of all traces and metrics, such as deployment.environment.name=production.',
  ),
} as const;

/** Where traces and metrics are sent. Undefined: they are not exported. */
export interface TelemetryConfig {
  readonly traces: TracesConfig | undefined;
  readonly metrics: { readonly url: string; readonly intervalMs: number } | undefined;
  readonly headers: Record<string, string>;
  readonly serviceName: string;
  readonly resource: Readonly<Record<string, string>>;
}

export interface TracesConfig {
  readonly url: string;
  /** The fraction of messages to trace. */
  readonly ratio: number;
  /** Whether the decision in the caller's `traceparent` takes precedence. */
  readonly followsCaller: boolean;
}

/** Returns the exports and their destinations. */
export function telemetryOf(settings: ValuesOf<typeof TRACING>): TelemetryConfig {
  const { otlpEndpoint, tracesSampler } = settings;
  const urlOf = (full: string | undefined, exporter: 'otlp' | 'none', path: string) =>
    exporter === 'none' ? undefined : (full ?? (otlpEndpoint && `${otlpEndpoint}${path}`));
  const tracesUrl = urlOf(settings.otlpTracesEndpoint, settings.tracesExporter, '/v1/traces');
  const metricsUrl = urlOf(settings.otlpMetricsEndpoint, settings.metricsExporter, '/v1/metrics');
  const root = tracesSampler.replace('parentbased_', '');
  const ratios: Record<string, number> = { always_on: 1, always_off: 0 };
  return {
    traces:
      tracesUrl === undefined
        ? undefined
        : {
            url: tracesUrl,
            ratio: ratios[root] ?? settings.tracesSamplerArg,
            followsCaller: root !== tracesSampler,
          },
    metrics:
      metricsUrl === undefined ? undefined : { url: metricsUrl, intervalMs: settings.metricExportIntervalMs },
    headers: settings.otlpHeaders ?? {},
    serviceName: settings.serviceName,
    resource: settings.resourceAttributes ?? {},
  };
}
