import { setTimeout as sleep } from 'node:timers/promises';

import type { Log } from '@footbridge/runtime/log';
import { ROOT_CONTEXT } from '@opentelemetry/api';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { Resource } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import {
  BatchSpanProcessor,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';

import type { TelemetryConfig, TracesConfig } from './settings.ts';
import type { MessageTracesDeps } from './trace-messages.ts';
import type { Metrics } from '../../platform/metrics/metrics.ts';
import { ExportReport } from './export-report.ts';
import { createMetricProducer } from './metric-producer.ts';
import { createSpanRecorder } from './span-recorder.ts';

export interface TelemetryDeps {
  readonly config: TelemetryConfig;
  readonly version: string;
  /** The id of this process. */
  readonly node: string;
  readonly metrics: Pick<Metrics, 'families'>;
  readonly log: Log;
  /** How long `close` waits for the collector at most. */
  readonly closeWithinMs: number;
}

export interface Telemetry {
  /** Undefined when traces are not exported. */
  readonly traces: Pick<MessageTracesDeps, 'isSampled' | 'record'> | undefined;
  /** Exports pending data. Gives up after `closeWithinMs`. */
  close(): Promise<void>;
}

/**
 * Sends traces and metrics to an OpenTelemetry collector. Only this folder imports the SDK, so it is loaded only when an endpoint is set.
 * A collector that fails or hangs has no effect on messages: at most 2,048 spans wait for it, and further ones are dropped.
 */
export function startTelemetry(deps: TelemetryDeps): Telemetry {
  const { config, version, node, metrics, log, closeWithinMs } = deps;
  const resource = resourceFromAttributes({
    'service.version': version,
    'service.instance.id': node,
    ...config.resource,
    'service.name': config.serviceName,
  });
  const { headers } = config;
  const recorder = config.traces && spanRecorder(config.traces.url, headers, resource, log);
  const meters =
    config.metrics &&
    new MeterProvider({
      resource,
      readers: [
        new PeriodicExportingMetricReader({
          exporter: new ExportReport('metrics', log).around(
            new OTLPMetricExporter({ url: config.metrics.url, headers }),
          ),
          exportIntervalMillis: config.metrics.intervalMs,
          exportTimeoutMillis: config.metrics.intervalMs,
          metricProducers: [createMetricProducer(metrics, version)],
        }),
      ],
    });
  return {
    traces: config.traces &&
      recorder && { isSampled: sampling(config.traces), record: (span) => recorder.record(span) },
    async close() {
      const providers = [recorder, meters].filter((provider) => provider !== undefined);
      const closing = providers.map((provider) => provider.shutdown());
      const closed = new AbortController();
      // Real time, not the injected clock: the collector does not follow the clock of a test.
      const waiting = sleep(closeWithinMs, undefined, { signal: closed.signal }).catch(() => undefined);
      await Promise.race([Promise.allSettled(closing), waiting]);
      closed.abort();
    },
  };
}

function spanRecorder(url: string, headers: Record<string, string>, resource: Resource, log: Log) {
  const exporter = new ExportReport('traces', log).around(new OTLPTraceExporter({ url, headers }));
  const spanProcessors = [new BatchSpanProcessor({ exporter })];
  return createSpanRecorder((idGenerator) => new TracerProvider({ resource, idGenerator, spanProcessors }));
}

/** Follows the caller or samples by trace id, so that all nodes make the same decision. */
function sampling({ ratio, followsCaller }: TracesConfig): MessageTracesDeps['isSampled'] {
  const sampler = new TraceIdRatioBasedSampler(ratio);
  return (traceId, caller) =>
    followsCaller && caller !== undefined
      ? caller.isSampled
      : sampler.shouldSample(ROOT_CONTEXT, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED;
}
