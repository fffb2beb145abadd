import { startHttpReceiver, startMailServer } from '@footbridge/testkit/alert-receivers';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { Webhook } from 'standardwebhooks';
import { afterEach, describe, expect, it } from 'vitest';

import { runCli } from '../cli/run-cli.ts';
import { LOCATION, TestBridge } from './test-bridge.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const SECRET = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
const HIDDEN = 'T0PSECRET';

const state = (signedIn: boolean) => ({
  type: 'state',
  capabilities: [],
  messages: { running: true, signedIn },
  lastSentAt: null,
  lastReceivedAt: null,
});

/** A bridge that sends alerts to a webhook, Slack, Teams and a mail server. */
async function start(env: Record<string, string> = {}) {
  const [webhook, slack, teams, mail] = await Promise.all([
    startHttpReceiver(),
    startHttpReceiver(),
    startHttpReceiver(),
    startMailServer(),
  ]);
  for (const server of [webhook, slack, teams, mail]) cleanup.add(() => server.close());
  const bridge = await TestBridge.start({
    env: {
      ALERT_WEBHOOK_URL: `${webhook.url}/${HIDDEN}`,
      ALERT_WEBHOOK_SECRET: SECRET,
      ALERT_SLACK_URL: `${slack.url}/${HIDDEN}`,
      ALERT_TEAMS_URL: `${teams.url}/${HIDDEN}`,
      ALERT_SMTP_URL: mail.url,
      ALERT_EMAIL_FROM: 'footbridge@example.com',
      ALERT_EMAIL_TO: 'ops@example.com',
      ALERT_ALLOW_PRIVATE: 'true',
      ...env,
    },
  });
  cleanup.add(() => bridge.stop());
  const taken = () => [webhook.taken.length, slack.taken.length, teams.taken.length, mail.mails.length];
  /** Waits until every receiver has so many alerts. */
  const arrived = (count: number) =>
    until(async () => {
      await bridge.clock.skip(5000);
      return taken().every((number) => number >= count);
    });
  const cli = (...args: string[]) =>
    runCli(['alerts', ...args], process.cwd(), {
      FOOTBRIDGE_OPERATOR_URL: bridge.bridge.operatorUrl,
      OPERATOR_TOKEN: bridge.bridge.operatorToken,
    });
  return { bridge, webhook, slack, teams, mail, taken, arrived, cli };
}

describe('alerts', () => {
  it('S6 tells every receiver that Messages was signed out, and that it works again, also after a restart', async () => {
    const { bridge, webhook, taken, arrived } = await start();
    const since = bridge.clock.now();
    const mac = await bridge.mac();
    mac.send(state(false));
    await mac.roundTrip();
    await arrived(1);
    // A stop ends attempts after a second of the skipping clock. One without a response would be made again.
    await until(async () => (await bridge.metric('footbridge_alerts_total')) >= taken().length);

    await bridge.restart();
    await bridge.clock.skip(60_000);
    const again = await bridge.mac();
    again.send(state(false));
    await again.roundTrip();
    await bridge.clock.skip(60_000);
    expect(taken()).toEqual([1, 1, 1, 1]);

    again.send(state(true));
    await again.roundTrip();
    await arrived(2);
    await bridge.clock.skip(120_000);
    expect(taken()).toEqual([2, 2, 2, 2]);

    const bodies = webhook.taken.map(({ headers, body }) => {
      // The clock of the service runs ahead of that of the library.
      const signed = Number(headers['webhook-timestamp']);
      expect(signed).toBeGreaterThanOrEqual(Math.floor(since / 1000));
      expect(signed).toBeLessThanOrEqual(bridge.clock.now() / 1000);
      const verifier = new Webhook(SECRET);
      const id = String(headers['webhook-id']);
      expect(headers['webhook-signature']).toBe(verifier.sign(id, new Date(signed * 1000), body));
      return JSON.parse(body) as { type: string; data: { changes: { issue: Record<string, unknown> }[] } };
    });
    expect(bodies.map(({ type }) => type)).toEqual(['issue.opened', 'issue.closed']);
    expect(bodies[0]?.data.changes[0]?.issue).toMatchObject({
      kind: 'messages_signed_out',
      locationIds: [LOCATION],
      action: expect.stringContaining('Sign in to iMessage'),
    });
    expect(bridge.log).not.toContain(HIDDEN);
    expect(bridge.log).toContain('"event":"alert.sent"');
    expect(await bridge.metric('footbridge_alerts_total')).toBeGreaterThan(0);
  });

  it('S6 an issue that opens and closes again and again is told as one', async () => {
    const { bridge, webhook, taken, arrived } = await start();
    const mac = await bridge.mac();
    const flap = async (signedIn: boolean) => {
      mac.send(state(signedIn));
      await mac.roundTrip();
      await until(async () => {
        await bridge.clock.skip(5000);
        const { body } = await bridge.operator('GET', '/operator/issues');
        return (body['issues'] as object[]).length === (signedIn ? 0 : 1);
      });
    };
    for (let count = 0; count < 20; count++) {
      await flap(false);
      await arrived(count === 0 ? 1 : 3);
      await flap(true);
      await arrived(count === 0 ? 2 : 3);
    }
    await bridge.clock.skip(60_000);
    expect(taken()).toEqual([3, 3, 3, 3]);
    const { body } = await bridge.operator('GET', '/operator/issues?state=closed');
    expect(body['issues']).toMatchObject([{ kind: 'messages_signed_out', reopened: expect.any(Number) }]);
    await bridge.clock.skip(3_600_000);
    await arrived(4);
    const bodies = webhook.taken.map(({ body: text }) => JSON.parse(text) as { type: string; data: object });
    expect(bodies.map(({ type }) => type)).toEqual([
      'issue.opened',
      'issue.closed',
      'issue.reminder',
      'issue.closed',
    ]);
    const [{ reopened }] = body['issues'] as [{ reopened: number }];
    expect(reopened).toBe(19);
    expect(bodies.at(-1)?.data).toMatchObject({ changes: [{ heldBack: false, issue: { reopened } }] });
  });

  it('S6 shows where alerts go, how many wait and why, without the secret part of an address', async () => {
    const { bridge, slack, cli } = await start();
    slack.behaviour = () => 'redirect';
    const mac = await bridge.mac();
    mac.send(state(false));
    await mac.roundTrip();
    const receivers = await until(async () => {
      await bridge.clock.skip(5000);
      const { body } = await bridge.operator('GET', '/operator/alerts');
      const list = body['receivers'] as { name: string; pending: number; lastError: string | null }[];
      const isTried = list.find(({ name }) => name === 'slack')?.lastError !== null;
      return isTried && list.filter(({ pending }) => pending === 0).length === 3 ? list : undefined;
    });
    expect(receivers.find(({ name }) => name === 'slack')).toMatchObject({
      target: new URL(slack.url).host,
      pending: 1,
      lastError: 'the receiver redirects (307); redirects are not followed',
    });
    const { lines, code } = await cli('list', '--json');
    expect(code).toBe(0);
    expect(lines.map(({ name }) => name)).toEqual(['webhook', 'slack', 'teams', 'email']);
    expect(JSON.stringify(receivers)).not.toContain(HIDDEN);
  });

  it('S6 a test reaches every receiver, also during quiet hours, and names those that fail', async () => {
    const { teams, taken, cli } = await start({ ALERT_QUIET_HOURS: '00:00-23:59' });
    const good = await cli('test', '--json');
    expect(good.code).toBe(0);
    expect(taken()).toEqual([1, 1, 1, 1]);

    teams.behaviour = () => 'fail';
    const bad = await cli('test', '--json');
    expect(bad.code).toBe(1);
    expect(bad.lines.find(({ name }) => name === 'teams')).toMatchObject({
      sent: false,
      error: 'the receiver responded with 503',
    });
    expect(bad.stderr).toContain('teams');
  });

  it('S6 a test without receivers says which settings are missing', async () => {
    const bridge = await TestBridge.start();
    cleanup.add(() => bridge.stop());
    const { code, stderr } = await runCli(['alerts', 'test'], process.cwd(), {
      FOOTBRIDGE_OPERATOR_URL: bridge.bridge.operatorUrl,
      OPERATOR_TOKEN: bridge.bridge.operatorToken,
    });
    expect(code).toBe(1);
    expect(stderr).toContain('ALERT_SLACK_URL');
  });
});
