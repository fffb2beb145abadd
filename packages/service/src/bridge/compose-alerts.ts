import type { Failpoint } from '@footbridge/runtime/failpoints';
import type { FastifyInstance } from 'fastify';

import type { AlertsConfig } from '../config/config.ts';
import { alertsRoutes } from '../edges/operator/alerts-routes.ts';
import { AlertSender } from '../flows/alerts/send-alerts.ts';
import { createSqlAlertOutbox } from '../ports/alerts/alert-outbox-sql.ts';
import { createSlackReceiver } from '../ports/alerts/alerts-slack.ts';
import { createSmtpReceiver } from '../ports/alerts/alerts-smtp.ts';
import { createTeamsReceiver } from '../ports/alerts/alerts-teams.ts';
import { createWebhookReceiver } from '../ports/alerts/alerts-webhook.ts';
import type { AlertReceiver } from '../ports/alerts/alerts.ts';
import type { OpenDatabase } from '../sql/open-database.ts';
import type { BridgeContext } from './context.ts';
import { pruneHourly } from './prune-hourly.ts';

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
