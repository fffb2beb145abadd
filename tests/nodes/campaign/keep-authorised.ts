import { setTimeout as sleep } from 'node:timers/promises';

import { listGrants } from '@footbridge/protocol/operator/crm';
import { checkAgainst } from '@footbridge/protocol/schema';

import type { Cluster, Node } from '../cluster.ts';

const EVERY_MS = 1000;
const PATIENCE_MS = 5000;

/**
 * Installs the app again, as an operator does, in each location whose grant the service calls revoked. A refresh token works once: when
 * the response to a refresh is lost, the new one is lost with it, which the service learns at its next refresh.
 */
export function keepAuthorised(cluster: Pick<Cluster, 'crm' | 'nodes'>): { stop(): Promise<void> } {
  const stopped = new AbortController();
  const { signal } = stopped;
  const work = async () => {
    while (!signal.aborted) {
      await authoriseAtAny(cluster);
      await sleep(EVERY_MS, undefined, { signal }).catch(() => undefined);
    }
  };
  const done = work();
  return {
    stop() {
      stopped.abort();
      return done;
    },
  };
}

/** A node may be down or frozen at this moment. */
async function authoriseAtAny({ crm, nodes }: Pick<Cluster, 'crm' | 'nodes'>): Promise<void> {
  for (const node of nodes) {
    const authorised = authorise(crm, node).catch(() => false);
    if (await Promise.race([authorised, sleep(PATIENCE_MS, false)])) return;
  }
}

async function authorise(crm: Cluster['crm'], { service }: Node): Promise<boolean> {
  const { body } = await service.operator('GET', '/operator/grants');
  const checked = checkAgainst(listGrants.response, body);
  if (!checked.ok) throw new Error(checked.reason);
  for (const { ownerId, state } of checked.value.grants) {
    if (state === 'active') continue;
    const code = encodeURIComponent(crm.install({ locationId: ownerId }));
    const { ok } = await fetch(`${service.url}/oauth/callback/crm?code=${code}`);
    if (!ok) return false;
  }
  return true;
}
