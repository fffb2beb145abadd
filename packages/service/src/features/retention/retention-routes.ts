import { listRetention, setRetention } from '@footbridge/protocol/operator/people';
import type { FastifyInstance } from 'fastify';

import type { AssetIndex } from '../../relay/assets/asset-index.ts';
import type { Audit } from '../../platform/operator/audit.ts';
import type { Retention } from './retention.ts';
import { visibleLocations } from '../../platform/operator/operator-auth.ts';
import { namedPlace, readNamedPlace, readPage } from '../../platform/operator/pages.ts';
import { serveCall } from '../../platform/operator/serve-call.ts';

export interface RetentionRoutesDeps {
  readonly retention: Retention;
  readonly index: Pick<AssetIndex, 'keepFor'>;
  /** JOURNAL_RETENTION_DAYS and ASSET_RETENTION_DAYS. */
  readonly defaults: { readonly journalDays: number; readonly assetDays: number };
  readonly audit: Pick<Audit, 'record'>;
}

const DAY_MS = 86_400_000;

/** `GET /operator/privacy/retention`, `PUT /operator/privacy/retention/:locationId`: how long the data of a location is kept. */
export function retentionRoutes({ retention, index, defaults, audit }: RetentionRoutesDeps) {
  return (app: FastifyInstance): void => {
    serveCall(app, listRetention, async ({ query: { limit, after }, request }) => {
      const from = readNamedPlace(after, ['location'])?.id ?? '';
      const locationIds = visibleLocations(request, undefined);
      const { entries, next } = await readPage(
        limit,
        (count) => retention.list({ limit: count, after: from, locationIds }),
        ({ locationId: id }) => namedPlace({ list: 'location', id }),
      );
      return { defaults, locations: entries, ...next };
    });

    serveCall(app, setRetention, async ({ params: { locationId }, body, request }) => {
      const { journalDays, assetDays } = body;
      await retention.set({ locationId, journalDays, assetDays });
      // The journal is pruned by age; a file has its expiry in its record.
      await index.keepFor(locationId, (assetDays ?? defaults.assetDays) * DAY_MS);
      await audit.record({
        actor: 'operator',
        name: request.operator.label,
        action: 'retention.changed',
        target: locationId,
        detail: { journalDays, assetDays },
      });
      return { locationId, journalDays, assetDays };
    });
  };
}
