import { METRICS, PROCESS_METRICS } from '@footbridge/service/platform/metrics/metrics-table';
import type { MetricEntry } from '@footbridge/service/platform/metrics/metrics-table';

const HEAD = `# Metrics

<!-- Made from packages/service/src/platform/metrics/metrics-table.ts by \`npm run check -- --write\`. -->

\`GET /metrics\` on the operator listener returns them in the text format of Prometheus, without a token. How to collect them: [observe.md](observe.md). What to do when an alert fires: [runbooks.md](runbooks.md).

No label carries a location, phone number, token or id, so the number of series does not grow with tenants, Macs or messages. Counters and histograms count events on one node: sum them over all nodes. Gauges *of all nodes* are the same on every node: take the maximum. A counter whose label values are all listed here starts at 0.
`;

/** The text of `docs/metrics.md`. */
export const metricsPage = (): string =>
  [
    HEAD,
    `## The service\n\n${table(METRICS)}`,
    `## The process\n\nThe Prometheus client library adds more Node metrics with the prefixes \`process_\` and \`nodejs_\`; dashboards and alerts use these:\n\n${table(PROCESS_METRICS)}`,
  ].join('\n');

function table(metrics: Readonly<Record<string, MetricEntry>>): string {
  const rows = Object.entries(metrics).map(
    ([name, { type, labels = {}, meaning, action }]) =>
      `| \`${name}\` | ${type} | ${Object.entries(labels).map(labelCell).join('<br>')} | ${meaning} | ${action} |`,
  );
  return `| metric | type | labels | meaning | what to do |\n|---|---|---|---|---|\n${rows.join('\n')}\n`;
}

const labelCell = ([label, values]: [string, string | readonly string[]]): string =>
  `\`${label}\`: ${typeof values === 'string' ? values : values.map((value) => `\`${value}\``).join(', ')}`;
