import type { FastifyInstance } from 'fastify';
import { z } from 'zod';

import { visibleIssues } from '../../flows/issues/visible-issues.ts';
import type { Issue, Issues } from '../../ports/issues/issues.ts';
import { isoTime, readBody } from './operator-request.ts';

export interface IssuesRoutesDeps {
  readonly issues: Pick<Issues, 'listOpen' | 'listClosed'>;
}

const QUERY = z.strictObject({ state: z.enum(['open', 'closed']).default('open') });
const MAX_CLOSED = 200;

/** `GET /operator/issues`: what is wrong, since when, whom it affects and what to do; with `?state=closed` what was wrong. */
export function issuesRoutes({ issues }: IssuesRoutesDeps) {
  return (app: FastifyInstance): void => {
    app.get('/operator/issues', { config: { locations: 'filtered' } }, async (request) => {
      const { state } = readBody(QUERY, request.query);
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
