import { listIssues } from '@footbridge/protocol/operator/watching';
import type { FastifyInstance } from 'fastify';

import { visibleIssues } from './visible-issues.ts';
import type { Issue, Issues } from './issues.ts';
import { isoTime } from '../../platform/operator/operator-request.ts';
import { serveCall } from '../../platform/operator/serve-call.ts';

export interface IssuesRoutesDeps {
  readonly issues: Pick<Issues, 'listOpen' | 'listClosed'>;
}

const MAX_CLOSED = 200;

/** `GET /operator/issues`: what is wrong, since when, whom it affects and what to do; with `?state=closed` what was wrong. */
export function issuesRoutes({ issues }: IssuesRoutesDeps) {
  return (app: FastifyInstance): void => {
    serveCall(app, listIssues, async ({ query: { state = 'open' }, request }) => {
      const found = state === 'open' ? await issues.listOpen() : await issues.listClosed(MAX_CLOSED);
      return { issues: visibleIssues(found, request.operator.locations).map(view) };
    });
  };
}

const view = ({ id, kind, locationIds, sentence, action, since, closedAt }: Issue) => ({
  id,
  kind,
  locationIds,
  sentence,
  action,
  since: isoTime(since),
  closedAt: closedAt === null ? null : isoTime(closedAt),
});
