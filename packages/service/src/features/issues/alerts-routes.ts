import { showAlerts, testAlerts } from '@footbridge/protocol/operator/watching';
import type { FastifyInstance } from 'fastify';

import type { AlertSender } from './send-alerts.ts';
import type { AlertOutbox } from './alert-outbox-sql.ts';
import type { AlertReceiver } from './alerts.ts';
import { isoTime } from '../../platform/operator/operator-request.ts';
import { serveCall } from '../../platform/operator/serve-call.ts';

export interface AlertsRoutesDeps {
  readonly receivers: readonly AlertReceiver[];
  readonly outbox: Pick<AlertOutbox, 'stateOf'>;
  readonly sender: Pick<AlertSender, 'test'>;
}

/** `GET /operator/alerts`: where alerts are sent, how many wait, and why. `POST /operator/alerts/test` sends a test to every receiver. */
export function alertsRoutes({ receivers, outbox, sender }: AlertsRoutesDeps) {
  return (app: FastifyInstance): void => {
    serveCall(app, showAlerts, async () => ({
      receivers: await Promise.all(
        receivers.map(async ({ name, target }) => {
          const { pending, lastSentAt, lastError } = await outbox.stateOf(name);
          return {
            name,
            target,
            pending,
            lastSentAt: lastSentAt === null ? null : isoTime(lastSentAt),
            lastError,
          };
        }),
      ),
    }));

    serveCall(app, testAlerts, async () => ({
      results: (await sender.test()).map(({ receiver: { name, target }, result }) => ({
        name,
        target,
        sent: result.ok,
        error: result.ok ? null : result.reason,
      })),
    }));
  };
}
