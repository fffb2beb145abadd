import type { Clock } from '@footbridge/runtime/clock';
import type { FastifyInstance } from 'fastify';

import { RequestError } from '../../platform/errors.ts';
import { asAssetId } from './assets.ts';
import type { Assets } from './assets.ts';
import type { AssetIndex } from './asset-index-sql.ts';
import { assetResponse } from './asset-response.ts';

export interface AssetRoutesDeps {
  readonly assets: Pick<Assets, 'open'>;
  readonly index: Pick<AssetIndex, 'find'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** `GET` and `HEAD /assets/{id}/{name}`. The unguessable id is the only credential. */
export function assetRoutes({ assets, index, clock }: AssetRoutesDeps) {
  return (app: FastifyInstance): void => {
    app.route<{ Params: { id: string; name: string } }>({
      method: ['GET', 'HEAD'],
      url: '/assets/:id/:name',
      async handler(request, reply) {
        const id = asAssetId(request.params.id);
        const record = id === undefined ? undefined : await index.find(id);
        if (id === undefined || record === undefined) throw new RequestError('NOT_FOUND');
        const { status, headers, body } = assetResponse(
          { ...record, expiresAt: new Date(record.expiresAt) },
          request.headers,
          new Date(clock.now()),
        );
        if (body === undefined || request.method === 'HEAD')
          return reply.code(status).headers(headers).send();
        const isWhole = body.length === record.size;
        const bytes = await assets.open(id, isWhole ? undefined : body);
        if (bytes === undefined) throw new RequestError('NOT_FOUND');
        return reply.code(status).headers(headers).send(bytes);
      },
    });
  };
}
