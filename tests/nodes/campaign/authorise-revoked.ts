import { until } from '@footbridge/testkit/until';
import { z } from 'zod';

import type { Cluster, Node } from '../cluster.ts';

const GRANTS = z.array(z.object({ ownerId: z.string(), state: z.string() }));

/**
 * Installs the app again, as an operator does, in each location whose grant the service calls revoked. A refresh token works once: when
 * the response to a refresh is lost, the new one is lost with it.
 */
export async function authoriseRevoked({ crm, nodes }: Pick<Cluster, 'crm' | 'nodes'>): Promise<void> {
  const authorise = async ({ service }: Node) => {
    const { body } = await service.operator('GET', '/operator/grants');
    for (const { ownerId, state } of GRANTS.parse(body['grants'])) {
      if (state === 'active') continue;
      const code = encodeURIComponent(crm.install({ locationId: ownerId }));
      const { ok, status } = await fetch(`${service.url}/oauth/callback/crm?code=${code}`);
      if (!ok) throw new Error(`the callback responded ${status}`);
    }
    return true;
  };
  // A node may be down at this moment.
  const authoriseAtAny = async () => {
    for (const node of nodes) if (await authorise(node).catch(() => false)) return true;
    return false;
  };
  await until(authoriseAtAny, { every: 200, what: 'revoked grants authorised again' });
}
