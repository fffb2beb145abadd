import { expect, it } from 'vitest';

import { renderHtml } from './report-html.ts';

it('the page starts with what to change, loads nothing and escapes quoted text', () => {
  const result = { title: 'a title', expected: 'x', seen: '<script>alert(1)</script>', ms: 1 };
  const html = renderHtml({
    version: '1',
    startedAt: '2026-01-31T00:00:00Z',
    crm: 'https://crm.example.com',
    locationId: 'l',
    results: [
      { ...result, id: 'API1', state: 'pass' },
      { ...result, id: 'HOOK12', state: 'fail', next: 'wait longer' },
    ],
  });
  expect(html).toContain('1/2 passed');
  expect(html.indexOf('wait longer')).toBeLessThan(html.indexOf('What the CRM receives'));
  expect(html).not.toMatch(/<script|<link|src=|href=|url\(/);
});
