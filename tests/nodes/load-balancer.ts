import { setTimeout as sleep } from 'node:timers/promises';

import type { Score } from './campaign/score.ts';
import type { Cluster, Node } from './cluster.ts';

const CHECK_MS = 100;
/** The statuses that a client of the load balancer may get while nodes stop and start. */
const EXPECTED = new Set(['200', '404', '503']);

export interface LoadBalancer {
  /** Returns the index of a node that is ready. `random` is any whole number. */
  choose(random: number): number;
  stop(): void;
}

/**
 * Polls the readiness of the nodes, as a load balancer does. A node closes idle connections and its listener only after
 * DRAIN_GRACE_SEC, when it no longer receives requests.
 */
export function startLoadBalancer({ nodes }: Cluster): LoadBalancer {
  const stopped = new AbortController();
  const { signal } = stopped;
  const isReady = nodes.map(() => true);
  const watch = async (index: number, { service }: Node) => {
    while (!signal.aborted) {
      isReady[index] = await fetch(`${service.operatorUrl}/readyz`, { signal }).then(
        ({ ok }) => ok,
        () => false,
      );
      await sleep(CHECK_MS);
    }
  };
  for (const [index, node] of nodes.entries()) void watch(index, node);
  return {
    choose(random) {
      const ready = [...nodes.keys()].filter((index) => isReady[index]);
      return ready[random % ready.length] ?? random;
    },
    stop: () => stopped.abort(),
  };
}

export const unexpectedResponses = ({ codes }: Pick<Score, 'codes'>): string[] =>
  Object.keys(codes).filter((code) => !EXPECTED.has(code));
