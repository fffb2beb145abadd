import { hasPostgres } from '@footbridge/testkit/servers/postgres';
import { hasRedis } from '@footbridge/testkit/servers/redis';
import { until } from '@footbridge/testkit/until';

import { startCluster } from '../nodes/cluster.ts';
import { REDIS_FAULTS, figuresOf, missed, runRedisFault } from '../nodes/redis-faults.ts';
import type { Attack } from './attacks.ts';

const canRun = (await hasRedis()) && (await hasPostgres());

/** What several nodes do to each other, and what Redis does to them. They need Redis and PostgreSQL. */
export const REDIS_DEFECTS: Readonly<Record<string, Attack>> = !canRun
  ? {}
  : {
      'a node with a wrong NODE_SECRET': async (_stage, cleanup) => {
        const cluster = await startCluster(cleanup, {
          nodes: 2,
          faultProxies: false,
          envOf: (index): Record<string, string> =>
            index === 0 ? {} : { NODE_SECRET: 'another secret than the others' },
        });
        const locationId = await cluster.location();
        const mac = await cluster.mac(0, locationId);
        await cluster.mac(1, locationId);
        const { status } = await cluster.webhook(0, locationId);
        const issues = async () =>
          JSON.stringify((await cluster.node(1).service.operator('GET', '/operator/issues')).body);
        return {
          async verify() {
            if (status !== 200 || !mac.isOpen) return 'a Mac is displaced';
            const isShown = async () => (await issues()).includes('nodes_separate');
            return until(isShown, { within: 60_000, every: 500 }).then(
              () => undefined,
              () => 'the operator does not see it',
            );
          },
        };
      },

      ...Object.fromEntries(
        Object.keys(REDIS_FAULTS).map((name): [string, Attack] => [
          `Redis: ${name}`,
          async () => {
            const report = await runRedisFault(name);
            return {
              verify: async () => missed(report).join(', ') || undefined,
              figures: () => figuresOf(report),
            };
          },
        ]),
      ),
    };
