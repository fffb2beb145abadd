import { countAssets } from '@footbridge/protocol/operator/watching';
import type { FastifyInstance } from 'fastify';

import type { AssetIndex } from './asset-index-sql.ts';
import { serveCall } from '../../platform/operator/serve-call.ts';

/** `GET /operator/assets`: the number and total size of stored attachments, of one location or of the Macs of one license. */
export function assetsRoutes(index: Pick<AssetIndex, 'totals'>) {
  return (app: FastifyInstance): void => {
    serveCall(app, countAssets, ({ query: { locationId, licenseId } }) => {
      if (licenseId !== undefined) return index.totals({ licenseId });
      return index.totals(locationId === undefined ? undefined : { locationId });
    });
  };
}
