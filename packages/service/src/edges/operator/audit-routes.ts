import type { FastifyInstance } from 'fastify';
import { z } from 'zod';

import type { Audit, AuditEntry } from '../../ports/audit/audit.ts';
import { isoTime, readBody } from './operator-request.ts';

const QUERY = z.strictObject({
  before: z
    .string()
    .regex(/^[\w-]{1,64}$/, 'must be the cursor of the previous page')
    .optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});

/** `GET /operator/audit`: who changed what, newest first. */
export function auditRoutes({ audit }: { readonly audit: Pick<Audit, 'list'> }) {
  return (app: FastifyInstance): void => {
    app.get('/operator/audit', async (request) => {
      const { before, limit } = readBody(QUERY, request.query);
      const entries = await audit.list({ limit, ...(before !== undefined && { before }) });
      return { entries: entries.map(view), cursor: entries.length < limit ? null : entries.at(-1)?.id };
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
