import { FakeClock } from '@footbridge/testkit/fake-clock';
import { silentLog } from '@footbridge/testkit/silent-log';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { afterEach, beforeEach, expect, it } from 'vitest';

import { NodeWatch } from './watch-nodes.ts';

interface Site {
  readonly prefix?: string;
  readonly isEarlier?: boolean;
  /** The Redis that the node uses: the ids of its nodes. */
  readonly redis?: Set<string>;
  readonly hasEarlierNodes?: boolean;
}

const cleanup = createCleanup();
afterEach(() => cleanup.run());

let clock: FakeClock;
let listeners: ((notice: string) => void)[];
let shared: Set<string>;
beforeEach(() => {
  clock = new FakeClock();
  listeners = [];
  shared = new Set();
});

/** A node of the one database of this file. */
function start(node: string, site: Site = {}) {
  const { prefix = 'ours', isEarlier = false, redis = shared, hasEarlierNodes = false } = site;
  const state = { isRedisDown: false };
  const throwIfDown = () => {
    if (state.isRedisDown) throw new Error('Redis is down');
  };
  redis.add(node);
  const warnings: unknown[] = [];
  const watch = new NodeWatch({
    self: { node, host: `host of ${node}`, prefix, isEarlier },
    announce: async (notice) => listeners.forEach((listener) => listener(notice)),
    listen: (listener) => {
      listeners.push(listener);
      return () => (listeners = listeners.filter((one) => one !== listener));
    },
    redis: {
      ping: async () => throwIfDown(),
      async hasNode(other) {
        throwIfDown();
        return redis.has(other);
      },
    },
    hasEarlierNodes: async () => hasEarlierNodes,
    clock,
    log: { ...silentLog, warn: (fields) => void warnings.push(fields) },
  });
  cleanup.add(() => watch.close());
  return { state, warnings, stop: () => watch.close(), seen: () => [...watch.separations()] };
}

it('finds nothing where all nodes share Redis, and when one stops', async () => {
  const [a, b] = [start('a'), start('b')];
  await clock.advance(60_000);
  expect([a.seen(), b.seen()]).toEqual([[], []]);
  b.stop();
  shared.delete('b');
  await clock.advance(60_000);
  expect(a.seen()).toEqual([]);
});

it.each<[string, Site, string]>([
  ['another node secret', { prefix: 'theirs', redis: new Set() }, 'secret'],
  ['another Redis', { redis: new Set() }, 'redis'],
  ['the prefix of an earlier version', { isEarlier: true }, 'version'],
])('finds a node with %s, on both sides, until it has stopped', async (_what, site, separation) => {
  const [a, b, other] = [start('a'), start('b'), start('other', site)];
  await clock.advance(5000);
  expect(a.seen()).toEqual([]);
  await clock.advance(25_000);
  expect([a.seen(), b.seen(), other.seen()]).toEqual([[separation], [separation], [separation]]);
  expect(a.warnings).toEqual([
    { event: 'cluster.node_separate', host: 'host of other', because: separation },
  ]);
  other.stop();
  await clock.advance(60_000);
  expect([a.seen(), b.seen()]).toEqual([[], []]);
});

it('finds nodes of an earlier version, which do not announce themselves', async () => {
  const a = start('a', { hasEarlierNodes: true });
  await clock.advance(10_000);
  expect(a.seen()).toEqual(['version']);
});

it('knows nothing about others while Redis is away, here or there', async () => {
  const [a, b] = [start('a'), start('b')];
  await clock.advance(20_000);
  b.state.isRedisDown = true;
  shared.delete('b');
  await clock.advance(60_000);
  expect([a.seen(), b.seen()]).toEqual([[], []]);
});

it('takes notices of a stopped node that arrive together for one', async () => {
  const a = start('a');
  const notice = JSON.stringify({ node: 'gone', host: 'h', prefix: 'ours', isEarlier: false });
  for (let count = 0; count < 10; count++) for (const listener of listeners) listener(notice);
  for (const listener of listeners) listener('*');
  await clock.advance(60_000);
  expect(a.seen()).toEqual([]);
});
