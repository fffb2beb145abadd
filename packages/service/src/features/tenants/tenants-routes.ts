import { MAX_PAGE } from '@footbridge/protocol/operator/parts';
import { listTenants } from '@footbridge/protocol/operator/watching';
import type { FastifyInstance } from 'fastify';

import type { Problem } from './tenant-path.ts';
import type { Tenant, TenantsPage, TenantsQuery } from './tenants.ts';
import { mayAccess } from '../../platform/operator/operator-auth.ts';
import { livenessView } from '../../relay/accounts/liveness.ts';
import { isoTime } from '../../platform/operator/operator-request.ts';
import { namedPlace, readNamedPlace } from '../../platform/operator/pages.ts';
import { serveCall } from '../../platform/operator/serve-call.ts';

export interface TenantsRoutesDeps {
  readonly tenants: (query: TenantsQuery) => Promise<TenantsPage>;
}

/**
 * `GET /operator/tenants`: whether each tenant can text, link by link, and what to do about the first broken one. Those with a problem are
 * first; `limit` cuts the list, not the counts.
 */
export function tenantsRoutes({ tenants }: TenantsRoutesDeps) {
  return (app: FastifyInstance): void => {
    serveCall(app, listTenants, async ({ query: { search, limit = MAX_PAGE, after }, request }) => {
      const from = readNamedPlace(after, ['broken', 'other']);
      const { next, ...page } = await tenants({
        search,
        limit,
        after: from === undefined ? undefined : { isBroken: from.list === 'broken', id: from.id },
        mayAccess: (locationId) => mayAccess(request, locationId),
      });
      const place =
        next === undefined
          ? {}
          : { next: namedPlace({ list: next.isBroken ? 'broken' : 'other', id: next.id }) };
      return { ...page, tenants: page.tenants.map(view), ...place };
    });
  };
}

const view = ({ locationId, license, claimed, links, problem, liveness }: Tenant) => ({
  locationId,
  license,
  claimed,
  liveness: livenessView(liveness),
  links: links.map(withTime),
  problem: problem === null ? null : problemView(problem),
});

const problemView = ({ link, sentence, action, since }: Problem) =>
  withTime({ link, sentence, action, since });

const withTime = <T extends { readonly since: number | null }>(part: T) => ({
  ...part,
  since: part.since === null ? null : isoTime(part.since),
});
