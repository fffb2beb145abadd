import type { CheckResult, State } from './check.ts';

/** The results of a run, for every report format. Contains no token, key, phone number or customer message. */
export interface ConformanceReport {
  readonly version: string;
  readonly startedAt: string;
  readonly crm: string;
  readonly locationId: string;
  readonly results: readonly CheckResult[];
}

export const PARTS: Readonly<Record<string, string>> = {
  API: 'What the CRM receives',
  HOOK: 'What the CRM sends',
  STATUS: 'Statuses',
};

export const countOf = ({ results }: ConformanceReport, state: State): number =>
  results.filter((result) => result.state === state).length;

/** Sorts by part and number, because the checks run in a different order. */
export const sorted = (results: readonly CheckResult[]): CheckResult[] =>
  results.toSorted((a, b) => a.id.localeCompare(b.id, 'en', { numeric: true }));

/** For example `31/33 passed`. Checks that were not tried do not count. */
export function verdictOf(report: ConformanceReport): string {
  const tried = report.results.length - countOf(report, 'not_tried');
  return `${countOf(report, 'pass') + countOf(report, 'warn')}/${tried} passed`;
}

export const escapeXml = (text: string): string =>
  text
    // XML 1.0 does not allow any other control characters, not even as character references.
    .replaceAll(/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, '\u{FFFD}')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
