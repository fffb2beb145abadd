import type { FastifyInstance } from 'fastify';
import { z } from 'zod';

import type { Tenant } from '../../flows/tenants/tenants.ts';
import { mayAccess } from './operator-auth.ts';
import { isoTime, readBody } from './operator-request.ts';

export interface TenantsRoutesDeps {
  readonly tenants: () => Promise<Tenant[]>;
}

const QUERY = z.strictObject({
  search: z.string().max(256, 'search has at most 256 characters').optional(),
  limit: z.coerce.number().int().min(1).max(10_000).optional(),
});

/**
 * `GET /operator/tenants`: whether each tenant can text, link by link, and what to do about the first broken one. Those with a problem are
 * first; `limit` cuts the list, not the counts.
 */
export function tenantsRoutes({ tenants }: TenantsRoutesDeps) {
  return (app: FastifyInstance): void => {
    app.get('/operator/tenants', { config: { locations: 'filtered' } }, async (request) => {
      const { search = '', limit } = readBody(QUERY, request.query);
      const wanted = search.toLowerCase();
      const own = (await tenants()).filter(({ locationId }) => mayAccess(request, locationId));
      const [broken, well] = [own.filter(({ problem }) => problem), own.filter(({ problem }) => !problem)];
      const found = [...broken, ...well].filter(({ locationId, license }) =>
        `${locationId} ${license ?? ''}`.toLowerCase().includes(wanted),
      );
      return {
        tenants: found.slice(0, limit).map(view),
        total: own.length,
        broken: broken.length,
        found: found.length,
      };
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
