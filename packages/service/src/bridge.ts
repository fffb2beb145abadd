import { createRequire } from 'node:module';

import { systemClock } from './clock.ts';
import type { Clock } from './clock.ts';
import type { Config } from './config/config.ts';
import { trusts } from './edges/http/client-address.ts';
import { deprecatedRoutes } from './edges/http/deprecated-routes.ts';
import { healthRoutes } from './edges/http/health-routes.ts';
import { startListener } from './edges/http/listener.ts';
import { requireOperator } from './edges/operator/operator-auth.ts';
import { probeRoutes } from './edges/operator/probe-routes.ts';
import { Lifecycle } from './lifecycle.ts';
import type { Logger } from './log.ts';
import { createMetrics } from './metrics.ts';
import { operatorToken } from './operator-token.ts';
import { createMemoryLimits } from './ports/limits/limits-memory.ts';
import { openDatabase } from './sql/open-database.ts';

export interface Bridge {
  readonly url: string;
  readonly operatorUrl: string;
  readonly operatorToken: string;
  close(): Promise<void>;
}

export interface Overrides {
  readonly log: Logger;
  readonly clock?: Clock;
}

const { version } = createRequire(import.meta.url)('../package.json') as { version: string };
const DRAIN_MS = 5000;

/** The composition root: the one place that names engines and knows who needs whom. */
export async function createBridge(config: Config, { log, clock = systemClock }: Overrides): Promise<Bridge> {
  const life = new Lifecycle((name, error) => log.error({ part: name, err: error }, 'closing failed'));
  try {
    return await compose(config, log, clock, life);
  } catch (error) {
    await life.close();
    throw error;
  }
}

async function compose(config: Config, log: Logger, clock: Clock, life: Lifecycle): Promise<Bridge> {
  const metrics = createMetrics();
  const token = operatorToken(config.operatorToken, config.dataDir);
  const database = await openDatabase(config.database, (error) =>
    log.warn({ err: error }, 'a database connection broke'),
  );
  life.add('database', () => database.close());

  const limits = createMemoryLimits(clock);
  life.add('limits', () => limits.close());

  let draining = false;
  const trusted = trusts(config.listeners.trustProxy);
  const publicListener = await startListener(
    {
      name: 'public',
      log,
      trusted,
      routes: [
        deprecatedRoutes,
        healthRoutes({
          version,
          startedAt: performance.now(),
          checks: [{ name: 'store', check: () => database.ping() }],
          limits,
          perMinute: config.limits.healthPerMinute,
          probePerMinute: config.limits.healthProbePerMinute,
        }),
      ],
    },
    config.listeners.public,
  );
  life.add('public listener', () => publicListener.close(DRAIN_MS));

  const operatorListener = await startListener(
    {
      name: 'operator',
      log,
      trusted: () => false,
      routes: [
        probeRoutes({ ready: () => !draining, metrics: metrics.render, documents: {} }),
        (app) => {
          requireOperator(token.token, limits)(app);
        },
      ],
    },
    config.listeners.operator,
  );
  life.add('operator listener', () => operatorListener.close(DRAIN_MS));
  life.add('readiness', () => {
    draining = true;
  });
  if (token.made) log.info({ file: 'DATA_DIR/operator-token' }, 'operator token made');

  return {
    url: publicListener.url,
    operatorUrl: operatorListener.url,
    operatorToken: token.token,
    close: () => life.close(),
  };
}
