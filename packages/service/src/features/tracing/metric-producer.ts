import { ValueType } from '@opentelemetry/api';
import type { Attributes, HrTime } from '@opentelemetry/api';
import type { DataPoint, Histogram, MetricData, MetricProducer } from '@opentelemetry/sdk-metrics';
import { AggregationTemporality, DataPointType } from '@opentelemetry/sdk-metrics';
import { emptyResource } from '@opentelemetry/resources';

import type { MetricFamily, MetricSample, Metrics } from '../../platform/metrics/metrics.ts';
import { timeOf } from './span-recorder.ts';

/** Exports the Prometheus metrics as OpenTelemetry metrics with the same names, so that each has one definition. */
export function createMetricProducer(metrics: Pick<Metrics, 'families'>, version: string): MetricProducer {
  const startTime = timeOf(Date.now());
  return {
    async collect() {
      const endTime = timeOf(Date.now());
      const families = await metrics.families();
      return {
        resourceMetrics: {
          resource: emptyResource(),
          scopeMetrics: [
            {
              scope: { name: 'footbridge', version },
              metrics: families.flatMap((family) => convert(family, startTime, endTime) ?? []),
            },
          ],
        },
        errors: [],
      };
    },
  };
}

function convert(
  { name, help, type, samples }: MetricFamily,
  startTime: HrTime,
  endTime: HrTime,
): MetricData | undefined {
  const common = {
    descriptor: { name, description: help, unit: unitOf(name), valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  const point = <T>(attributes: Attributes, value: T): DataPoint<T> => ({
    startTime,
    endTime,
    attributes,
    value,
  });
  if (type === 'histogram')
    return {
      ...common,
      dataPointType: DataPointType.HISTOGRAM,
      dataPoints: histograms(samples).map(({ labels, value }) => point(labels, value)),
    };
  const dataPoints = samples
    .filter(({ value }) => Number.isFinite(value))
    .map(({ labels, value }) => point(labels, value));
  if (type === 'counter')
    return { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints };
  return type === 'gauge' ? { ...common, dataPointType: DataPointType.GAUGE, dataPoints } : undefined;
}

const unitOf = (name: string): string => {
  if (/_seconds(?:_total)?$/.test(name)) return 's';
  return name.endsWith('_bytes') || name.endsWith('_bytes_max') ? 'By' : '1';
};

interface LabelledHistogram {
  readonly labels: Attributes;
  readonly value: Histogram;
}

/** Converts Prometheus buckets, which are cumulative and one sample each, to histograms. */
function histograms(samples: readonly MetricSample[]): LabelledHistogram[] {
  const groups = Map.groupBy(samples, ({ labels: { le: _le, ...labels } }) => JSON.stringify(labels));
  return Array.from(groups.values(), (group) => {
    const { le: _le, ...labels } = group[0]?.labels ?? {};
    const buckets = group
      .filter(({ labels: { le } }) => le !== undefined)
      .map(({ labels: { le }, value }) => ({ le: le === '+Inf' ? Infinity : Number(le), value }))
      .toSorted((left, right) => left.le - right.le);
    const counts = buckets.map(({ value }, index) => value - (buckets[index - 1]?.value ?? 0));
    const valueOf = (suffix: string) => group.find(({ name }) => name.endsWith(suffix))?.value ?? 0;
    return {
      labels,
      value: {
        buckets: { boundaries: buckets.map(({ le }) => le).filter(Number.isFinite), counts },
        sum: valueOf('_sum'),
        count: valueOf('_count'),
      },
    };
  });
}
