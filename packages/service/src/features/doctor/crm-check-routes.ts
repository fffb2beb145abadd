import { checkCrm } from '@footbridge/protocol/operator/crm';
import type { FastifyInstance } from 'fastify';

import type { Attempt } from '../../platform/retry/retry.ts';
import { serveCall } from '../../platform/operator/serve-call.ts';

export interface CrmCheckRoutesDeps {
  /** Calls that change nothing, by the scope that each needs. */
  readonly calls: Readonly<Record<string, (locationId: string) => Promise<Attempt<unknown>>>>;
}

/** `GET /operator/locations/:locationId/crm-check`: calls the CRM with the token of the location, once for each scope that can be tried without changing anything. */
export function crmCheckRoutes({ calls }: CrmCheckRoutesDeps) {
  return (app: FastifyInstance): void => {
    serveCall(app, checkCrm, async ({ params: { locationId } }) => {
      const results = await Promise.all(
        Object.entries(calls).map(async ([scope, call]) => {
          const attempt = await call(locationId);
          if (attempt.ok) return { scope, ok: true, kind: null, status: 200, reason: null };
          return { scope, ok: false, kind: attempt.kind, status: attempt.status, reason: attempt.reason };
        }),
      );
      return { locationId, calls: results };
    });
  };
}
