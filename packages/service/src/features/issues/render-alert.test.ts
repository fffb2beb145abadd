import { expect, test } from 'vitest';

import type { Alert, AlertedChange, AlertedIssue } from './alerts.ts';
import { renderAlert } from './render-alert.ts';

const SINCE = Date.UTC(2026, 10, 15, 9, 12);
const issue = (subject: string, changed: Partial<AlertedIssue> = {}): AlertedIssue => ({
  id: subject,
  kind: 'mac_offline',
  sentence: `The Mac of ${subject} is not connected.`,
  action: 'Switch it on.',
  since: SINCE,
  closedAt: null,
  locationIds: [subject],
  affected: 1,
  ...changed,
});
const render = (...changes: [AlertedChange, AlertedIssue][]) =>
  renderAlert({
    id: 'a',
    at: 0,
    changes: changes.map(([change, one]) => ({ change, issue: one })),
  } satisfies Alert);

test('a closed issue has its duration and no next step', () => {
  expect(render(['closed', issue('loc1', { closedAt: SINCE + 25 * 60_000 })])).toEqual({
    title: 'Resolved: The Mac of loc1 is not connected.',
    lines: ['From 2026-11-15 09:12 UTC to 2026-11-15 09:37 UTC (25 minutes)', 'Affects: loc1'],
  });
});

test('an issue of many locations names a few of them', () => {
  const locationIds = Array.from({ length: 100 }, (_, index) => `loc${index}`);
  expect(render(['reminder', issue('x', { locationIds, affected: 400 })]).lines[1]).toBe(
    'Affects: loc0, loc1, loc2, loc3, loc4 and 395 more',
  );
  expect(render(['opened', issue('x', { locationIds: null, affected: null })]).lines[1]).toBe(
    'Affects: all locations',
  );
});

test('a digest counts, lists some changes and names the common next step', () => {
  const many = Array.from({ length: 30 }, (_, index): [AlertedChange, AlertedIssue] => [
    index < 25 ? 'opened' : 'closed',
    issue(`loc${index}`),
  ]);
  const { title, lines } = render(...many);
  expect(title).toBe('30 changes: 25 open, 5 resolved; affects 30 locations');
  expect(lines[0]).toBe('Open: The Mac of loc0 is not connected. (loc0)');
  expect(lines.slice(20)).toEqual(['and 10 more', 'Next: Switch it on.']);
  expect(render(...many, ['opened', issue('y', { action: 'Other.' })]).lines.at(-1)).toContain(
    'footbridge issues',
  );
});

test('control characters in names do not reach an alert', () => {
  expect(render(['opened', issue('x', { sentence: 'A\r\nBcc: b\u0000' })]).title).toBe('Open: A Bcc: b ');
});
