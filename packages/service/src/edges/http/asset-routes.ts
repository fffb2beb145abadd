import type { FastifyInstance } from 'fastify';

import type { Clock } from '../../clock.ts';
import { RequestError } from '../../errors.ts';
import { answerAsset } from '../../media/asset-response.ts';
import { asAssetId } from '../../ports/assets/assets.ts';
import type { Assets } from '../../ports/assets/assets.ts';
import type { AssetIndex } from '../../ports/asset-index/asset-index.ts';

export interface AssetRoutesDeps {
  readonly assets: Pick<Assets, 'open'>;
  readonly index: Pick<AssetIndex, 'find'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** `GET` and `HEAD /assets/{id}/{name}`: whoever has the address may read the file, no browser runs it. */
export function assetRoutes({ assets, index, clock }: AssetRoutesDeps) {
  return (app: FastifyInstance): void => {
    app.route<{ Params: { id: string; name: string } }>({
      method: ['GET', 'HEAD'],
      url: '/assets/:id/:name',
      async handler(request, reply) {
        const id = asAssetId(request.params.id);
        const record = id === undefined ? undefined : await index.find(id);
        if (id === undefined || record === undefined) throw new RequestError('NOT_FOUND');
        const answer = answerAsset(
          { ...record, expiresAt: new Date(record.expiresAt) },
          request.headers,
          new Date(clock.now()),
        );
        void reply.code(answer.status).headers(answer.headers);
        if (answer.body === undefined || request.method === 'HEAD') return reply.send();
        const whole = answer.body.length === record.size;
        const bytes = await assets.open(id, whole ? undefined : answer.body);
        if (bytes === undefined) throw new RequestError('NOT_FOUND');
        return reply.send(bytes);
      },
    });
  };
}
