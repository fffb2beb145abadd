import type { Failpoint } from '@footbridge/runtime/failpoints';
import type { FastifyInstance } from 'fastify';

import type { AlertsConfig } from '../platform/settings/config.ts';
import { alertsRoutes } from '../features/issues/alerts-routes.ts';
import { AlertSender } from '../features/issues/send-alerts.ts';
import { createSqlAlertOutbox } from '../features/issues/alert-outbox-sql.ts';
import { createSlackReceiver } from '../features/issues/alerts-slack.ts';
import { createSmtpReceiver } from '../features/issues/alerts-smtp.ts';
import { createTeamsReceiver } from '../features/issues/alerts-teams.ts';
import { createWebhookReceiver } from '../features/issues/alerts-webhook.ts';
import type { AlertReceiver } from '../features/issues/alerts.ts';
import type { OpenDatabase } from '../platform/sql/open-database.ts';
import type { BridgeContext } from './context.ts';
import { pruneHourly } from '../platform/prune-hourly.ts';

const DAY_MS = 86_400_000;

/** Composes the alerts about issues. */
export function composeAlerts(
  context: BridgeContext,
  database: OpenDatabase,
  failpoint: Failpoint | undefined,
): (app: FastifyInstance) => void {
  const { config, clock, log, life, metrics, node } = context;
  const outbox = createSqlAlertOutbox({
    db: database.db,
    clock,
    otherNodes: config.cluster.engine === 'redis',
  });
  const receivers = receiversOf(config.alerts, () => clock.now());
  const { quietHours, reminderMs } = config.alerts;
  const sender = new AlertSender({
    outbox,
    receivers,
    quietHours,
    reminderMs,
    node,
    clock,
    log,
    failpoint,
    count: metrics.alert,
  });
  life.add('alerts', () => sender.close());
  life.add(
    'pruning of alerts',
    pruneHourly(context, 'alert.prune_failed', () =>
      outbox.prune(clock.now() - config.retentionDays * DAY_MS),
    ),
  );
  return alertsRoutes({ receivers, outbox, sender });
}

function receiversOf(
  { webhook, slack, teams, email, allowPrivate }: AlertsConfig,
  now: () => number,
): AlertReceiver[] {
  return [
    ...(webhook === undefined ? [] : [createWebhookReceiver({ ...webhook, allowPrivate, now })]),
    ...(slack === undefined ? [] : [createSlackReceiver({ url: slack, allowPrivate })]),
    ...(teams === undefined ? [] : [createTeamsReceiver({ url: teams, allowPrivate })]),
    ...(email === undefined ? [] : [createSmtpReceiver({ ...email, allowPrivate })]),
  ];
}
