import type { CheckResult } from './check.ts';
import { countOf, escapeXml, PARTS, sorted } from './report.ts';
import type { ConformanceReport } from './report.ts';

/** Renders the report as JUnit XML, one suite per part. A warning is a passed test with the warning in its output. */
export function renderJunit(report: ConformanceReport): string {
  const { results, startedAt } = report;
  const suites = Object.entries(PARTS).map(([part, title]) => {
    const own = sorted(results.filter(({ id }) => id.startsWith(part)));
    if (own.length === 0) return '';
    const attributes = `name="${escapeXml(title)}" timestamp="${startedAt}" ${countsOf({ ...report, results: own })}`;
    return `  <testsuite ${attributes}>\n${own.map(renderCase).join('')}  </testsuite>\n`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="footbridge conformance" ${countsOf(report)}>\n${suites.join('')}</testsuites>\n`;
}

function countsOf(report: ConformanceReport): string {
  const { results } = report;
  const seconds = results.reduce((sum, { ms }) => sum + ms, 0) / 1000;
  return `tests="${results.length}" failures="${countOf(report, 'fail')}" errors="0" skipped="${countOf(report, 'not_tried')}" time="${seconds.toFixed(3)}"`;
}

function renderCase({ id, title, state, expected, seen, next = '', ms }: CheckResult): string {
  const details = escapeXml(`Expected: ${expected}\nSeen: ${seen}${next === '' ? '' : `\nNext: ${next}`}`);
  const body = {
    pass: `<system-out>${details}</system-out>`,
    warn: `<system-out>Warning\n${details}</system-out>`,
    fail: `<failure message="${escapeXml(seen)}">${details}</failure>`,
    not_tried: `<skipped message="${escapeXml(seen)}"/>`,
  }[state];
  return `    <testcase classname="footbridge.conformance" name="${escapeXml(`${id} ${title}`)}" time="${(ms / 1000).toFixed(3)}">${body}</testcase>\n`;
}
