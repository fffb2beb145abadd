import { createCleanup } from '@footbridge/testkit/cleanup';
import { hasPostgres } from '@footbridge/testkit/servers/postgres';
import { hasRedis } from '@footbridge/testkit/servers/redis';
import { afterEach, describe, expect, it } from 'vitest';

import { runBlackHoles } from './black-holes.ts';

const hasServers = (await hasRedis()) && (await hasPostgres());
const cleanup = createCleanup();
afterEach(() => cleanup.run());

/** The link is silent for longer than the service needs to notice it. */
async function run(nodes: number): Promise<void> {
  const scores = await runBlackHoles(cleanup, {
    times: 2,
    seconds: [2, 7],
    rate: 10,
    links: 2,
    nodes,
    seed: 1,
  });
  expect(scores.flatMap(({ violations }) => violations)).toEqual([]);
  for (const { accepted } of scores) expect(accepted).toBeGreaterThan(20);
}

describe('black holes between the service and the agent program', { timeout: 300_000 }, () => {
  it('M10 lose nothing with one node', () => run(1));

  it.skipIf(!hasServers)('M10 lose nothing with two nodes', () => run(2));
});
