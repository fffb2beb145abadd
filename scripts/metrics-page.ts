import { createMetrics } from '@footbridge/service/metrics';

/** The text of `docs/metrics.md`. */
export function metricsPage(): string {
  const rows = createMetrics().descriptions.map(
    ({ name, type, help, labels }) =>
      `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} |`,
  );
  return `# Metrics

<!-- Made from packages/service/src/metrics.ts by \`npm run check -- --write\`. -->

\`GET /metrics\` on the operator listener, in the format of Prometheus. Scraping needs no token. No label carries a location, a phone number or an id, so the number of series does not grow with the tenants.

| metric | type | labels | meaning |
|---|---|---|---|
${rows.join('\n')}

The metrics of the process are those of every Node program: \`process_…\` for CPU, memory and open files, \`nodejs_…\` for the event loop, the heap and garbage collection.

Each node reports what it did itself; add the nodes up. \`footbridge_issues_open\` and \`footbridge_lines\` are the same on all nodes: take the maximum. Instead of writing rules for all of this, let the service alert you ([operate.md](operate.md#alerts)).
`;
}
