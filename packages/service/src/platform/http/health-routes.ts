import type { FastifyInstance } from 'fastify';
import { RequestError } from '../errors.ts';
import type { Limit, Limits } from '../limits/limits.ts';
import { rateLimitHeaders } from './error-response.ts';
import { addressKey } from './client-address.ts';

export interface HealthDeps {
  readonly version: string;
  readonly startedAt: number;
  readonly checks: readonly HealthCheck[];
  readonly limits: Limits;
  readonly perMinute: number;
  readonly probePerMinute: number;
}

/** `GET /health` (H1) with its two limits (L4). It is public, so it reveals nothing about tenants or Macs. */
export function healthRoutes(deps: HealthDeps) {
  const full: Limit = { name: 'health', max: deps.perMinute, windowSec: 60 };
  const probe: Limit = { name: 'health-probe', max: deps.probePerMinute, windowSec: 60 };

  return (app: FastifyInstance): void => {
    app.get<{ Querystring: Record<string, unknown> }>('/health', async (request, reply) => {
      const isProbe = Object.hasOwn(request.query, 'pm2');
      const verdict = await deps.limits.take(isProbe ? probe : full, addressKey(request.ip));
      void reply.headers({ 'Cache-Control': 'no-store', ...rateLimitHeaders(verdict) });
      if (!verdict.allowed)
        throw new RequestError('TOO_MANY_REQUESTS', {
          message: 'Too many health checks from this address; wait until the minute is over.',
        });
      if (isProbe) return { status: 'ok' };
      const checks = await runChecks(deps.checks);
      const ok = !hasFailed(checks);
      return reply.code(ok ? 200 : 503).send({
        status: ok ? 'ok' : 'fail',
        version: deps.version,
        uptimeSec: Math.floor((performance.now() - deps.startedAt) / 1000),
        checks,
      });
    });
  };
}

/** A dependency of the service. `check` rejects when it is unavailable. */
export interface HealthCheck {
  readonly name: string;
  readonly check: () => Promise<void>;
}

export type HealthResults = Readonly<Record<string, 'ok' | 'fail'>>;

/** Runs all checks at the same time. Never rejects. */
export async function runChecks(checks: readonly HealthCheck[]): Promise<HealthResults> {
  const results = await Promise.allSettled(checks.map(({ check }) => check()));
  return Object.fromEntries(
    checks.map(({ name }, index) => [name, results[index]?.status === 'fulfilled' ? 'ok' : 'fail']),
  );
}

export const hasFailed = (results: HealthResults): boolean => Object.values(results).includes('fail');
