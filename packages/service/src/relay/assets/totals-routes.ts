import { countAssets } from '@footbridge/protocol/operator/watching';
import type { FastifyInstance } from 'fastify';

import type { AssetIndex } from './asset-index.ts';
import { serveCall } from '../../platform/operator/serve-call.ts';

/** `GET /operator/assets?locationId=`: the number and total size of stored attachments. */
export function assetsRoutes(index: Pick<AssetIndex, 'totals'>) {
  return (app: FastifyInstance): void => {
    serveCall(app, countAssets, ({ query }) => index.totals(query.locationId));
  };
}
