import { expect, it } from 'vitest';

import { RecentOccurrences } from './recent-occurrences.ts';

const WINDOW_MS = 1000;

function occurrencesAt(time: { now: number }): RecentOccurrences {
  return new RecentOccurrences(() => time.now, WINDOW_MS);
}

it('counts a run from its first occurrence', () => {
  const time = { now: 5000 };
  const occurrences = occurrencesAt(time);
  occurrences.add('webhooks');
  time.now += WINDOW_MS - 1;
  occurrences.add('webhooks');
  expect(occurrences.of('webhooks')).toMatchObject({ count: 2, since: 5000 });
  expect(occurrences.of('another subject')).toEqual({ count: 0, since: time.now });
});

it('begins a new run after a window without an occurrence', () => {
  const time = { now: 5000 };
  const occurrences = occurrencesAt(time);
  occurrences.add('webhooks');
  time.now += WINDOW_MS;
  expect(occurrences.of('webhooks').count).toBe(0);
  expect([...occurrences.all()]).toEqual([]);
  occurrences.add('webhooks');
  expect(occurrences.of('webhooks')).toMatchObject({ count: 1, since: 6000 });
});

it('keeps at most ten thousand subjects', () => {
  const occurrences = occurrencesAt({ now: 0 });
  for (let subject = 0; subject < 10_001; subject++) occurrences.add(String(subject));
  expect(occurrences.all().size).toBe(10_000);
  expect(occurrences.of('0').count).toBe(0);
  expect(occurrences.of('10000').count).toBe(1);
});

it('removes subjects whose runs have ended first', () => {
  const time = { now: 0 };
  const occurrences = occurrencesAt(time);
  for (const now of [0, WINDOW_MS - 1]) {
    time.now = now;
    occurrences.add('in progress');
    if (now === 0) for (let subject = 1; subject < 10_000; subject++) occurrences.add(String(subject));
  }
  time.now = WINDOW_MS;
  occurrences.add('new');
  expect(occurrences.of('in progress').count).toBe(2);
  expect(occurrences.all().size).toBe(2);
});
