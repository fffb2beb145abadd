import { expect, it } from 'vitest';

import type { CountQuery, MessageCount } from '../../relay/journal/journal.ts';
import { BUCKET_MS, BUCKETS, TrafficOverview } from './show-traffic.ts';

const NOW = BUCKET_MS * 1000 + 60_000;
const FAILED = { direction: 'outbound', state: 'failed', code: 'TIMEOUT' } as const;

function start(ofBucket: (from: number) => Omit<MessageCount, 'from'>[]) {
  const asked: CountQuery[] = [];
  let now = NOW;
  const overview = new TrafficOverview({
    journal: {
      async counts(query) {
        asked.push(query);
        const buckets = (query.until - query.from) / query.bucketMs;
        return Array.from({ length: buckets }, (_, index) => query.from + index * query.bucketMs).flatMap(
          (from) => ofBucket(from).map((count) => ({ ...count, from })),
        );
      },
      newest: async () => [],
    },
    now: () => now,
  });
  return { overview, asked, pass: (ms: number) => (now += ms) };
}

it('the overview shows 48 half hours, and all their failures by code', async () => {
  const { overview } = start((from) =>
    from === BUCKET_MS * 1000
      ? [
          { direction: 'outbound', state: 'delivered', code: null, count: 5 },
          { ...FAILED, count: 2 },
          { direction: 'inbound', state: 'received', code: null, count: 1 },
        ]
      : [{ ...FAILED, count: 1 }],
  );
  const { buckets, failures } = await overview.show(undefined);
  expect(buckets).toHaveLength(BUCKETS);
  expect(buckets.at(-1)).toEqual({
    from: BUCKET_MS * 1000,
    outbound: { total: 7, delivered: 5, failed: 2 },
    inbound: { total: 1, delivered: 0, failed: 0 },
  });
  expect(failures).toEqual([{ direction: 'outbound', code: 'TIMEOUT', count: 49 }]);
});

it('a half hour that can no longer change is read once', async () => {
  const { overview, asked, pass } = start(() => []);
  await overview.show(undefined);
  expect(asked).toHaveLength(BUCKETS);
  await overview.show(undefined);
  expect(asked).toHaveLength(BUCKETS);
  pass(10_000);
  await overview.show(undefined);
  expect(asked).toHaveLength(BUCKETS + 2);
  const { buckets } = await overview.show(['loc1']);
  expect(buckets).toHaveLength(BUCKETS);
  await overview.show(['loc1']);
  await overview.show(['loc2', 'loc1']);
  expect(asked.slice(BUCKETS + 2)).toMatchObject([
    { locationIds: ['loc1'], bucketMs: BUCKET_MS },
    { locationIds: ['loc2', 'loc1'], bucketMs: BUCKET_MS },
  ]);
});
