import { listAudit } from '@footbridge/protocol/operator/watching';
import type { FastifyInstance } from 'fastify';

import type { Audit, AuditEntry } from './audit-sql.ts';
import { isoTime } from './operator-request.ts';
import { serveCall } from './serve-call.ts';

/** `GET /operator/audit`: who changed what, newest first. */
export function auditRoutes({ audit }: { readonly audit: Pick<Audit, 'list'> }) {
  return (app: FastifyInstance): void => {
    serveCall(app, listAudit, async ({ query: { before, limit = 50 } }) => {
      const entries = await audit.list({ limit, ...(before !== undefined && { before }) });
      return {
        entries: entries.map(view),
        cursor: entries.length < limit ? null : (entries.at(-1)?.id ?? null),
      };
    });
  };
}

const view = ({ id, at, actor, name, action, target, detail }: AuditEntry) => ({
  id,
  at: isoTime(at),
  actor,
  name,
  action,
  target,
  detail: detail ?? null,
});
