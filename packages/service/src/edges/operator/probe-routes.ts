import type { FastifyInstance } from 'fastify';

export interface ProbeDeps {
  readonly ready: () => boolean;
  readonly metrics: () => Promise<{ type: string; text: string }>;
  /** Documents by path, for example `/openapi.json`. */
  readonly documents: Readonly<Record<string, object>>;
}

/** What supervisors and scrapers ask on the operator listener, without a token. */
export function probeRoutes(deps: ProbeDeps) {
  return (app: FastifyInstance): void => {
    app.get('/livez', async () => ({ status: 'ok' }));
    app.get('/readyz', async (_request, reply) =>
      deps.ready() ? { status: 'ok' } : reply.code(503).send({ status: 'draining' }),
    );
    app.get('/metrics', async (_request, reply) => {
      const { type, text } = await deps.metrics();
      return reply.header('Content-Type', type).send(text);
    });
    for (const [path, document] of Object.entries(deps.documents)) app.get(path, async () => document);
  };
}
