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

test('an issue that opens again and again says so', () => {
  const [again, once] = [issue('loc1', { reopened: 120 }), issue('loc1', { reopened: 1 })];
  expect(render(['reminder', again])).toEqual({
    title: 'Still open: The Mac of loc1 is not connected.',
    lines: [
      'Since 2026-11-15 09:12 UTC',
      'Affects: loc1',
      'It has opened again 120 times. Further changes are not reported until it has been resolved for an hour.',
      'Next: Switch it on.',
    ],
  });
  expect(render(['closed', once]).lines[2]).toContain('It has opened again once.');
  const { lines } = render(['reminder', again], ['opened', issue('loc2')]);
  expect(lines.slice(0, 2)).toEqual([
    'Still open: The Mac of loc1 is not connected. (loc1, opened again: 120)',
    'Open: The Mac of loc2 is not connected. (loc2)',
  ]);
});

test('an alert counts what was held back', () => {
  const held = (count: number) =>
    renderAlert({
      id: 'a',
      at: 0,
      changes: Array.from({ length: 3 }, (_, index) => ({
        change: 'opened' as const,
        issue: issue(`loc${index}`),
        heldBack: index < count,
      })).slice(0, Math.max(count, 1)),
    }).lines.at(-1);
  expect(held(0)).toBe('Next: Switch it on.');
  expect(held(1)).toBe('1 change was held back: there were 10 alerts about the license within an hour.');
  expect(held(3)).toBe('3 changes were held back: there were 10 alerts about the license within an hour.');
});
