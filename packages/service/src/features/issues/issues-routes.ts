import { listIssues } from '@footbridge/protocol/operator/watching';
import type { FastifyInstance } from 'fastify';

import { readVisible } from './visible-issues.ts';
import type { Issue, Issues } from './issues-sql.ts';
import { isoTime } from '../../platform/operator/operator-request.ts';
import { readPage, readTimedPlace, timedPlace } from '../../platform/operator/pages.ts';
import { serveCall } from '../../platform/operator/serve-call.ts';

export interface IssuesRoutesDeps {
  readonly issues: Pick<Issues, 'listOpen' | 'listClosed'>;
}

/** The page of closed issues, unless `limit` says otherwise. */
const CLOSED = 200;

const placeOfOpen = ({ since, id }: Issue) => ({ at: since, id });
const placeOfClosed = ({ closedAt, id }: Issue) => ({ at: closedAt ?? 0, id });

/** `GET /operator/issues`: the open issues; with `?state=closed`, the closed ones. */
export function issuesRoutes({ issues }: IssuesRoutesDeps) {
  return (app: FastifyInstance): void => {
    serveCall(app, listIssues, async ({ query: { state = 'open', limit, after }, request }) => {
      const { locations } = request.operator;
      const place = state === 'open' ? placeOfOpen : placeOfClosed;
      const from = readTimedPlace(after);
      const { entries, next } = await readPage(
        limit ?? (state === 'open' ? undefined : CLOSED),
        (count) =>
          readVisible(
            { limit: count, after: from },
            locations,
            (page) => (state === 'open' ? issues.listOpen(page) : issues.listClosed(page)),
            place,
          ),
        (last) => timedPlace(place(last)),
      );
      return { issues: entries.map(view), ...next };
    });
  };
}

const view = ({ id, kind, locationIds, sentence, action, since, closedAt, reopened }: Issue) => ({
  id,
  kind,
  locationIds,
  sentence,
  action,
  since: isoTime(since),
  closedAt: closedAt === null ? null : isoTime(closedAt),
  reopened,
});
