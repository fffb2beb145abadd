import { describe, expect, it } from 'vitest';

import { faultKinds } from './fault-kinds.ts';
import { renderHtml } from './report-html.ts';
import { timelineOf, totalsOf } from './report.ts';
import type { CampaignReport, RoundReport } from './report.ts';
import { createSchedule } from './schedule.ts';
import { FLAWLESS } from './score.ts';

const kinds = faultKinds({ agents: 2 });

function roundReport(round: number, evidence: readonly string[] = []): RoundReport {
  const schedule = createSchedule({ seed: round, faults: kinds.length + 3, kills: 4, kinds });
  return {
    round,
    messages: 500,
    seed: 1,
    seconds: 60,
    schedule: schedule.map((fault, index) => ({
      ...fault,
      from: index * 1000,
      to: index * 1000 + fault.durationMs,
    })),
    bucketMs: 1000,
    timeline: Array.from({ length: 60 }, (_, index) => ({
      taken: index,
      notConnected: index % 3,
      unavailable: index % 5,
      failed: index % 2,
      inbound: index,
      statuses: 2 * index,
    })),
    bugs: [],
    inbound: 500,
    outbound: 500,
    atOnce: 300,
    displaced: 2,
    toldAgain: 0,
    unknownOutcomes: 0,
    forgotten: 0,
    violations: { ...FLAWLESS, lost: evidence.length },
    evidence,
    codes: { 200: 500 },
  };
}

const reportOf = (...rounds: RoundReport[]): CampaignReport => ({
  options: {
    messages: 1000,
    faults: 80,
    kills: 8,
    seed: 1,
    nodes: 4,
    locations: 6,
    agents: 2,
    roundSize: 500,
  },
  startedAt: '2026-01-01T00:00:00.000Z',
  rounds,
});

/** Elements that may stay open. */
const VOID = new Set(['meta']);

/** Returns the first place at which the elements are not nested properly. */
function badNesting(html: string): string | undefined {
  const open: string[] = [];
  const body = html.replace('<!doctype html>', '').replace(/<style>[\s\S]*?<\/style>/, '<style></style>');
  for (const [tag, slash, name = '', selfClosing] of body.matchAll(
    /<(\/?)([a-z0-9]+)(?:\s[^<>]*?)?(\/?)>/g,
  )) {
    if (slash === '/' && open.pop() !== name) return tag;
    if (slash === '' && selfClosing === '' && !VOID.has(name)) open.push(name);
  }
  return open.at(-1);
}

describe('the HTML report', () => {
  const html = renderHtml(
    reportOf(roundReport(0), roundReport(1, ['lost: <script>alert("1")</script> & more'])),
  );

  it('is properly nested HTML', () => {
    expect(html).toMatch(/^<!doctype html>\n<html lang="en">/);
    expect(badNesting(html)).toBeUndefined();
    expect(badNesting('<p><b></p></b>')).toBe('</p>');
  });

  it('loads nothing and runs nothing', () => {
    expect(html).not.toMatch(
      /\b(?:src|href|srcset|action|data)\s*=|@import|url\(|https?:|<(?:script|link|img|iframe|object)\b/i,
    );
  });

  it('shows evidence as text', () => {
    expect(html).toContain('lost: &lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; more');
  });

  it('says which rounds failed, and shows every kind of fault on the timeline', () => {
    expect(html).toContain('1 of 2 rounds failed');
    expect(renderHtml(reportOf(roundReport(0)))).toContain('Every score is 0');
    for (const kind of kinds) expect(html).toContain(`: ${kind}, `);
  });

  it('has colours for light and dark pages', () => {
    expect(html).toContain('color-scheme: light dark');
    expect(html).toContain('prefers-color-scheme: dark');
  });
});

describe('the figures of a report', () => {
  it('sum up the violations of all rounds', () => {
    const rounds = [
      roundReport(0, ['lost: a']),
      { ...roundReport(1, ['lost: b', 'lost: c']), bugs: ['a bug'] },
    ];
    expect(totalsOf(rounds)).toEqual({ ...FLAWLESS, lost: 3, bugs: 1 });
  });

  it('count answers, messages and statuses in their intervals', () => {
    const answer = (status: number | string, answeredAt: number) => ({
      askedAt: 0,
      answeredAt,
      status,
      requestId: '',
    });
    const sent = [
      {
        messageId: 'm',
        locationId: 'l',
        text: 't',
        attempts: [answer(404, 1100), answer('ECONNRESET', 1200), answer(200, 2100)],
      },
    ];
    const events = {
      sent,
      inboundAt: [performance.timeOrigin + 1500],
      statusesAt: [performance.timeOrigin + 2500],
    };
    expect(timelineOf(events, 1000, 1000)).toEqual([
      { taken: 0, notConnected: 1, unavailable: 0, failed: 1, inbound: 1, statuses: 0 },
      { taken: 1, notConnected: 0, unavailable: 0, failed: 0, inbound: 0, statuses: 1 },
    ]);
  });
});
