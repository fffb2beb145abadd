import { showOverview } from '@footbridge/protocol/operator/watching';
import type { FastifyInstance } from 'fastify';

import type { LocationOverview } from '../../relay/accounts/overview.ts';
import { openAt, visibleIssues } from './visible-issues.ts';
import type { MacHistory } from './mac-history.ts';
import { BUCKET_MS } from './show-traffic.ts';
import type { TrafficOverview } from './show-traffic.ts';
import type { Issues } from './issues-sql.ts';
import { mayAccess } from '../../platform/operator/operator-auth.ts';
import { isoTime } from '../../platform/operator/operator-request.ts';
import { serveCall } from '../../platform/operator/serve-call.ts';

export interface OverviewRoutesDeps {
  readonly traffic: Pick<TrafficOverview, 'show'>;
  readonly locations: () => Promise<readonly LocationOverview[]>;
  readonly issues: Pick<Issues, 'listOpen' | 'listClosed'>;
  readonly macHistory: Pick<MacHistory, 'at'>;
}

const MAX_CLOSED = 1000;

/** `GET /operator/overview`: the counts of the last 24 hours by half hour, failures by code, and the slowest hops. */
export function overviewRoutes({ traffic, locations, issues, macHistory }: OverviewRoutesDeps) {
  return (app: FastifyInstance): void => {
    serveCall(app, showOverview, async ({ request }) => {
      const { locations: scope } = request.operator;
      const [{ buckets, failures, hops }, all, open, closed] = await Promise.all([
        traffic.show(scope === null ? undefined : [...scope]),
        locations(),
        issues.listOpen(),
        issues.listClosed({ limit: MAX_CLOSED }),
      ]);
      const own = all.filter(({ locationId, state }) => state === 'bound' && mayAccess(request, locationId));
      const visible = visibleIssues([...open, ...closed], scope);
      const openIssues = openAt(
        visible,
        buckets.map(({ from }) => from + BUCKET_MS - 1),
      );
      return {
        macs: { connected: own.filter(({ connected }) => connected !== null).length, expected: own.length },
        openIssues: visible.filter(({ closedAt }) => closedAt === null).length,
        bucketSec: BUCKET_MS / 1000,
        buckets: buckets.map(({ from, outbound, inbound }, index) => ({
          from: isoTime(from),
          outbound,
          inbound,
          openIssues: openIssues[index] ?? 0,
          // The history counts the Macs of all locations.
          macs: scope === null ? macHistory.at(from) : null,
        })),
        failures,
        hops,
      };
    });
  };
}
