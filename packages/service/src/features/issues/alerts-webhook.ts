import { createHmac } from 'node:crypto';

import type { Alert, AlertReceiver } from './alerts.ts';
import { postJson } from './post-json-http.ts';
import type { HttpTarget } from './post-json-http.ts';
import { renderAlert } from './render-alert.ts';

export interface WebhookTarget extends HttpTarget {
  readonly secret: Uint8Array;
  readonly now: () => number;
}

/** Posts alerts in the format of Standard Webhooks, signed with HMAC-SHA256 over id, time and body. */
export function createWebhookReceiver({ secret, now, ...target }: WebhookTarget): AlertReceiver {
  return {
    name: 'webhook',
    target: target.url.host,
    send(alert, stopped) {
      const body = bodyOf(alert);
      const timestamp = String(Math.floor(now() / 1000));
      const signature = createHmac('sha256', secret)
        .update(`${alert.id}.${timestamp}.${body}`)
        .digest('base64');
      return postJson(target, body, stopped, {
        'webhook-id': alert.id,
        'webhook-timestamp': timestamp,
        'webhook-signature': `v1,${signature}`,
      });
    },
  };
}

function bodyOf(alert: Alert): string {
  const [first, ...others] = alert.changes;
  return JSON.stringify({
    type: first === undefined ? 'test' : others.length > 0 ? 'issue.digest' : `issue.${first.change}`,
    timestamp: isoTime(alert.at),
    data: {
      title: renderAlert(alert).title,
      changes: alert.changes.map(({ change, issue, heldBack = false }) => ({
        change,
        heldBack,
        issue: {
          ...issue,
          reopened: issue.reopened ?? 0,
          since: isoTime(issue.since),
          closedAt: issue.closedAt === null ? null : isoTime(issue.closedAt),
        },
      })),
    },
  });
}

const isoTime = (at: number) => new Date(at).toISOString();
