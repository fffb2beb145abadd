import type { FastifyInstance } from 'fastify';

import { hasFailed, runChecks } from '../http/health-routes.ts';
import type { HealthCheck } from '../http/health-routes.ts';

export interface ProbeDeps {
  readonly draining: () => boolean;
  /** When one of these fails, the node is not ready and traffic should go elsewhere. */
  readonly required: readonly HealthCheck[];
  /** When one of these fails, the node is degraded but still accepts webhooks. */
  readonly optional: readonly HealthCheck[];
  readonly metrics: () => Promise<{ type: string; text: string }>;
  /** Documents by path, for example `/openapi.json`. */
  readonly documents: Readonly<Record<string, object>>;
}

/** Probes, metrics and API documents on the operator listener. They need no token. */
export function probeRoutes(deps: ProbeDeps) {
  return (app: FastifyInstance): void => {
    app.get('/livez', async () => ({ status: 'ok' }));
    app.get('/readyz', async (_request, reply) => {
      if (deps.draining()) return reply.code(503).send({ status: 'draining' });
      const [required, optional] = await Promise.all([runChecks(deps.required), runChecks(deps.optional)]);
      const checks = { ...optional, ...required };
      if (hasFailed(required)) return reply.code(503).send({ status: 'fail', checks });
      return { status: hasFailed(optional) ? 'degraded' : 'ok', checks };
    });
    app.get('/metrics', async (_request, reply) => {
      const { type, text } = await deps.metrics();
      return reply.header('Content-Type', type).send(text);
    });
    for (const [path, document] of Object.entries(deps.documents)) app.get(path, async () => document);
  };
}
