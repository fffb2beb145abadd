import { startHttpReceiver, startMailServer } from '@footbridge/testkit/alert-receivers';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { activate, connectMac } from '@footbridge/testkit/mac';
import { startService } from '@footbridge/testkit/service';
import { until } from '@footbridge/testkit/until';
import { describe, expect, it, onTestFinished } from 'vitest';

import { LOCATION } from './crash-setup.ts';

const SIGNED_OUT = {
  type: 'state',
  capabilities: [],
  messages: { running: true, signedIn: false },
  lastSentAt: null,
  lastReceivedAt: null,
};

/** A service that sends alerts to a webhook and a mail server. */
async function start() {
  const cleanup = createCleanup();
  onTestFinished(() => cleanup.run());
  const [webhook, mail] = await Promise.all([startHttpReceiver(), startMailServer()]);
  for (const server of [webhook, mail]) cleanup.add(() => server.close());
  const service = await startService({
    readyWithin: 60_000,
    env: {
      ALERT_WEBHOOK_URL: webhook.url,
      ALERT_WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 9).toString('base64')}`,
      ALERT_SMTP_URL: mail.url,
      ALERT_EMAIL_FROM: 'footbridge@example.com',
      ALERT_EMAIL_TO: 'ops@example.com',
      ALERT_ALLOW_PRIVATE: 'true',
    },
  });
  cleanup.add(() => service.stop());
  const { key } = await service.license();
  const { deviceToken = '' } = await activate(service.url, { licenseKey: key, deviceId: 'mac-of-alerts' });

  /** Makes the service open an issue. */
  const signOut = async () => {
    const mac = await connectMac(service.url, { token: deviceToken });
    cleanup.add(() => mac.terminate());
    await mac.register(LOCATION);
    mac.send(SIGNED_OUT);
  };
  const settled = () =>
    until(
      async () => {
        const { body } = await service.operator('GET', '/operator/alerts');
        const receivers = body['receivers'] as { pending: number; lastSentAt: string | null }[];
        return receivers.every(({ pending, lastSentAt }) => pending === 0 && lastSentAt !== null);
      },
      { within: 120_000, what: 'all alerts sent' },
    );
  const mailIds = () => mail.mails.map((text) => /^Message-ID: (.*)$/im.exec(text)?.[1]);
  return { service, webhook, signOut, settled, mailIds };
}

describe('kill -9 while an alert is sent', () => {
  it('loses no alert, and a receiver that had not accepted it gets it once', async () => {
    const { service, webhook, signOut, settled, mailIds } = await start();
    webhook.behaviour = () => 'hang';
    await signOut();
    await until(() => webhook.requests === 1, { within: 120_000 });
    await service.kill9();
    webhook.behaviour = () => 'accept';
    await service.start();
    await settled();
    expect(webhook.taken.map(({ body }) => (JSON.parse(body) as { type: string }).type)).toEqual([
      'issue.opened',
    ]);
    expect(new Set(mailIds()).size).toBe(1);
  }, 300_000);

  it('resends an alert whose acceptance was not recorded, once and with the same id', async () => {
    const { service, webhook, signOut, settled, mailIds } = await start();
    await service.restart({ FAILPOINTS: 'alerts.afterSend:kill' });
    await signOut();
    await service.exited;
    await service.start();
    await settled();
    expect(new Set(webhook.taken.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(new Set(webhook.taken.map(({ body }) => body)).size).toBe(1);
    expect(new Set(mailIds()).size).toBe(1);
    expect(mailIds()).not.toContain(undefined);
    const received = webhook.taken.length + mailIds().length;
    expect(received).toBeGreaterThan(2);
    expect(received).toBeLessThanOrEqual(4);
  }, 300_000);
});
