import type { FastifyInstance } from 'fastify';

/** `check` rejects when the part is away. */
export interface Part {
  readonly name: string;
  readonly check: () => Promise<void>;
}

export interface ProbeDeps {
  readonly draining: () => boolean;
  /** When one of these fails, the node is not ready and traffic should go elsewhere. */
  readonly vital: readonly Part[];
  /** When one of these fails, the node is degraded but still accepts webhooks. */
  readonly useful: readonly Part[];
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
      const [vital, useful] = await Promise.all([stateOf(deps.vital), stateOf(deps.useful)]);
      const checks = { ...useful, ...vital };
      if (hasFailed(vital)) return reply.code(503).send({ status: 'fail', checks });
      return { status: hasFailed(useful) ? 'degraded' : 'ok', checks };
    });
    app.get('/metrics', async (_request, reply) => {
      const { type, text } = await deps.metrics();
      return reply.header('Content-Type', type).send(text);
    });
    for (const [path, document] of Object.entries(deps.documents)) app.get(path, async () => document);
  };
}

type States = Record<string, 'ok' | 'fail'>;

async function stateOf(parts: readonly Part[]): Promise<States> {
  const results = await Promise.allSettled(parts.map(({ check }) => check()));
  return Object.fromEntries(
    parts.map(({ name }, index) => [name, results[index]?.status === 'fulfilled' ? 'ok' : 'fail']),
  );
}

const hasFailed = (states: States) => Object.values(states).includes('fail');
