import { expect, it } from 'vitest';

import type { CheckResult } from './check.ts';
import { renderJunit } from './report-junit.ts';

const result = (id: string, state: CheckResult['state']): CheckResult => ({
  id,
  title: `title of ${id}`,
  state,
  expected: 'a < b',
  seen: 'c & "d" \u0000',
  next: 'do it',
  ms: 1500,
});

it('the JUnit report has one suite per part, in the order of the rules, and escapes quoted text', () => {
  const results = [result('API10', 'fail'), result('API2', 'pass'), result('HOOK1', 'not_tried')];
  const xml = renderJunit({
    version: '1',
    startedAt: '2026-01-31T00:00:00Z',
    crm: 'x',
    locationId: 'l',
    results,
  });
  expect(xml).toContain(
    '<testsuites name="footbridge conformance" tests="3" failures="1" errors="0" skipped="1" time="4.500">',
  );
  expect(xml.match(/<testsuite /g)).toHaveLength(2);
  expect(xml.indexOf('API2 title')).toBeLessThan(xml.indexOf('API10 title'));
  expect(xml).toContain('<failure message="c &amp; &quot;d&quot; \uFFFD">Expected: a &lt; b\n');
  expect(xml).toContain('<skipped message=');
});
