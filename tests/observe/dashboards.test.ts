import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { METRICS, PROCESS_METRICS } from '@footbridge/service/platform/metrics/metrics-table';
import type { MetricEntry } from '@footbridge/service/platform/metrics/metrics-table';
import { describe, expect, it } from 'vitest';

import { DASHBOARDS } from '../../scripts/grafana-dashboards.ts';
import { ALERTS } from './alert-rules.ts';

const ROOT = join(import.meta.dirname, '../..');
const TABLE: Readonly<Record<string, MetricEntry>> = { ...METRICS, ...PROCESS_METRICS };
/** Added by Prometheus. */
const OWN_METRICS = new Set(['up']);
const OWN_LABELS = new Set(['instance', 'job', 'le']);

const entryOf = (name: string): MetricEntry | undefined => {
  const base = name.replace(/_(?:bucket|sum|count)$/, '');
  return TABLE[name] ?? (TABLE[base]?.type === 'histogram' ? TABLE[base] : undefined);
};

/** Returns the metrics and labels in an expression that are not in the table of metrics. */
function unknownIn(expression: string): string[] {
  const names = [...expression.matchAll(/\b(?:up|[a-z]+_[a-z0-9_]+)(?=\{|\[|\)| [=<>!])/g)].map(
    ([name]) => name,
  );
  const metrics = names.filter((name) => !/^(?:histogram_quantile|label_values)$/.test(name));
  const labels = new Set(metrics.flatMap((name) => Object.keys(entryOf(name)?.labels ?? {})));
  const used = [
    ...[...expression.matchAll(/\{([^}]*)\}/g)].flatMap(([, inner = '']) =>
      [...inner.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label),
    ),
    ...[...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/)),
  ];
  return [
    ...(metrics.length === 0 ? ['no metric'] : []),
    ...metrics.filter((name) => !OWN_METRICS.has(name) && entryOf(name) === undefined),
    ...used.filter((label) => !OWN_LABELS.has(label) && !labels.has(label)),
  ];
}

describe('the check of expressions', () => {
  it.each([
    ['sum by (status) (rate(footbridge_webhook_requests_total{code!=""}[5m]))', []],
    ['up{job="footbridge"} == 0', []],
    ['sum(footbridge_no_such_total)', ['footbridge_no_such_total']],
    ['max by (location) (footbridge_macs_bound)', ['location']],
    ['footbridge_macs_bound_sum{phone="1"} > 1', ['footbridge_macs_bound_sum', 'phone']],
  ])('finds the unknown metrics and labels in %s', (expression, unknown) => {
    expect(unknownIn(expression)).toEqual(unknown);
  });
});

describe('dashboards and alerts', () => {
  const panels = Object.entries(DASHBOARDS).flatMap(([name, dashboard]) =>
    dashboard.panels.flatMap(({ title, queries }) => queries.map(({ expr }) => [name, title, expr] as const)),
  );

  it.each(panels)(
    'the panel of %s, %s, uses metrics and labels that exist: %s',
    (_name, _title, expression) => {
      expect(unknownIn(expression)).toEqual([]);
    },
  );

  it.each(ALERTS.map(({ alert, expr }) => [alert, expr] as const))(
    'the alert %s uses metrics and labels that exist: %s',
    (_alert, expression) => {
      expect(unknownIn(expression)).toEqual([]);
    },
  );

  it('every metric of the service is in a dashboard', () => {
    const shown = panels.map(([, , expression]) => expression).join('\n');
    const hidden = Object.keys(METRICS).filter((name) => !shown.includes(name));
    expect(hidden).toEqual([]);
  });

  it('every alert has a severity, a summary and a runbook', () => {
    const headings = [...readFileSync(join(ROOT, 'docs/runbooks.md'), 'utf8').matchAll(/^## (.+)$/gm)].map(
      ([, heading = '']) => heading.toLowerCase().replaceAll(' ', '-'),
    );
    for (const { alert, labels, annotations } of ALERTS) {
      expect(['warning', 'critical'], alert).toContain(labels.severity);
      expect(annotations.summary, alert).toMatch(/\.$/);
      const [page, heading] = annotations.runbook_url.split('#');
      expect(page, alert).toBe('docs/runbooks.md');
      expect(headings, alert).toContain(heading);
    }
  });
});
