import type { FastifyInstance } from 'fastify';

import type { AssetIndex } from '../../ports/asset-index/asset-index.ts';

/** `GET /operator/assets?locationId=`: the number and total size of stored attachments. */
export function assetsRoutes(index: Pick<AssetIndex, 'totals'>) {
  return (app: FastifyInstance): void => {
    app.get<{ Querystring: { locationId?: unknown } }>('/operator/assets', async ({ query }) =>
      index.totals(typeof query.locationId === 'string' ? query.locationId : undefined),
    );
  };
}
