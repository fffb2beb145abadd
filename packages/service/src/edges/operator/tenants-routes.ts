import type { FastifyInstance } from 'fastify';

import type { Tenant } from '../../flows/tenants/tenants.ts';
import { mayAccess } from './operator-auth.ts';
import { isoTime } from './operator-request.ts';

export interface TenantsRoutesDeps {
  readonly tenants: () => Promise<Tenant[]>;
}

/** `GET /operator/tenants`: whether each tenant can text, link by link, and what to do about the first broken one. */
export function tenantsRoutes({ tenants }: TenantsRoutesDeps) {
  return (app: FastifyInstance): void => {
    app.get('/operator/tenants', { config: { locations: 'filtered' } }, async (request) => {
      const all = await tenants();
      return { tenants: all.filter(({ locationId }) => mayAccess(request, locationId)).map(view) };
    });
  };
}

const view = ({ locationId, license, links, problem }: Tenant) => ({
  locationId,
  license,
  links: links.map(withTime),
  problem: problem === null ? null : withTime(problem),
});

const withTime = <T extends { readonly since: number | null }>(part: T) => ({
  ...part,
  since: part.since === null ? null : isoTime(part.since),
});
