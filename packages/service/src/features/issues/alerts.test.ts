import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

import { startHttpReceiver, startMailServer } from '@footbridge/testkit/alert-receivers';
import type { HttpBehaviour } from '@footbridge/testkit/alert-receivers';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { Webhook } from 'standardwebhooks';
import { afterEach, describe, expect, it } from 'vitest';

import { createSlackReceiver } from './alerts-slack.ts';
import { createSmtpReceiver } from './alerts-smtp.ts';
import { createTeamsReceiver } from './alerts-teams.ts';
import { createWebhookReceiver } from './alerts-webhook.ts';
import type { Alert, AlertedIssue, AlertReceiver } from './alerts.ts';
import type { HttpTarget } from './post-json-http.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const SECRET = Buffer.alloc(32, 7);
const ISSUE: AlertedIssue = {
  id: 'issue-1',
  kind: 'mac_offline',
  sentence: 'The Mac “<b>*Front* desk” is not connected.',
  action: 'Check that it is switched on.',
  since: Date.UTC(2026, 10, 15, 9, 12),
  closedAt: null,
  locationIds: ['loc1', 'loc2'],
  affected: 2,
};
const ALERT: Alert = {
  id: 'alert_1',
  at: Date.UTC(2026, 10, 15, 9, 17),
  changes: [{ change: 'opened', issue: ISSUE }],
};

const HTTP: readonly [string, (target: HttpTarget) => AlertReceiver][] = [
  ['webhook', (target) => createWebhookReceiver({ ...target, secret: SECRET, now: () => Date.now() })],
  ['slack', createSlackReceiver],
  ['teams', createTeamsReceiver],
];

async function startHttp(behaviour: HttpBehaviour = 'accept') {
  const server = await startHttpReceiver();
  cleanup.add(() => server.close());
  server.behaviour = () => behaviour;
  return { server, target: { url: new URL(server.url), allowPrivate: true, timeoutMs: 60_000 } };
}

async function startMail() {
  const server = await startMailServer();
  cleanup.add(() => server.close());
  const email = (changed: { url?: string; allowPrivate?: boolean; timeoutMs?: number } = {}) =>
    createSmtpReceiver({
      from: 'footbridge@example.com',
      to: ['ops@example.com', 'night@example.com'],
      allowPrivate: true,
      timeoutMs: 60_000,
      ...changed,
      url: new URL(changed.url ?? server.url),
    });
  return { server, email };
}

describe.each(HTTP)('%s', (name, create) => {
  it('posts an alert once and shows only the host of its address', async () => {
    const { server, target } = await startHttp();
    const receiver = create(target);
    expect(await receiver.send(ALERT)).toEqual({ ok: true });
    expect(server.requests).toBe(1);
    expect(server.taken[0]?.headers['content-type']).toBe('application/json');
    expect(receiver).toMatchObject({ name, target: target.url.host });
  });

  it.each<[HttpBehaviour, RegExp]>([
    ['fail', /^the receiver responded with 503$/],
    ['redirect', /^the receiver redirects \(307\); redirects are not followed$/],
    ['reset', /^the connection failed \(ECONNRESET\)$/],
    ['lose', /^the connection failed/],
  ])('a receiver that does this is a failure: %s', async (behaviour, reason) => {
    const { server, target } = await startHttp(behaviour);
    const result = await create(target).send(ALERT);
    expect(result).toEqual({ ok: false, reason: expect.stringMatching(reason) });
    expect(server.requests).toBe(1);
  });

  it('gives up a receiver that hangs', async () => {
    const { target } = await startHttp('hang');
    const result = await create({ ...target, timeoutMs: 200 }).send(ALERT);
    expect(result).toEqual({ ok: false, reason: 'the receiver did not respond within 0.2 s' });
  });

  it('stops at once when it is aborted', async () => {
    const { server, target } = await startHttp('hang');
    const stop = new AbortController();
    const sending = create(target).send(ALERT, stop.signal);
    await until(() => server.requests === 1);
    stop.abort();
    expect(await sending).toEqual({ ok: false, reason: 'the service was stopped' });
  });

  it('does not read an endless response', async () => {
    const { server, target } = await startHttp('huge');
    expect(await create(target).send(ALERT)).toEqual({ ok: true });
    const written = await until(async () => {
      const before = server.hugeBytes;
      await new Promise((resolve) => void setTimeout(resolve, 50));
      return before === server.hugeBytes ? before : undefined;
    });
    expect(written).toBeLessThan(50_000_000);
  });

  it('refuses a private address before it connects', async () => {
    const { server, target } = await startHttp();
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '10.0.0.1', '169.254.169.254']) {
      const url = new URL(target.url);
      url.hostname = host;
      const result = await create({ ...target, url, allowPrivate: false }).send(ALERT);
      expect(result).toEqual({ ok: false, reason: expect.stringContaining('not public') });
    }
    expect(server.requests).toBe(0);
  });
});

describe('the format', () => {
  it('of a webhook is verified by the library of Standard Webhooks, and every attempt has the same id', async () => {
    const { server, target } = await startHttp();
    const receiver = createWebhookReceiver({ ...target, secret: SECRET, now: () => Date.now() });
    await receiver.send(ALERT);
    await receiver.send(ALERT);
    const verifier = new Webhook(`whsec_${SECRET.toString('base64')}`);
    for (const { headers, body } of server.taken) {
      const verified = verifier.verify(body, headers as Record<string, string>);
      expect(verified).toEqual({
        type: 'issue.opened',
        timestamp: '2026-11-15T09:17:00.000Z',
        data: {
          title: `Open: ${ISSUE.sentence}`,
          changes: [
            {
              change: 'opened',
              heldBack: false,
              issue: { ...ISSUE, since: '2026-11-15T09:12:00.000Z', reopened: 0 },
            },
          ],
        },
      });
      expect(() => verifier.verify(`${body} `, headers as Record<string, string>)).toThrow();
    }
    expect(new Set(server.taken.map(({ headers }) => headers['webhook-id']))).toEqual(new Set(['alert_1']));
  });

  it('of Slack and Teams shows names as they are', async () => {
    const { server, target } = await startHttp();
    await createSlackReceiver(target).send(ALERT);
    await createTeamsReceiver(target).send(ALERT);
    const [slack, teams] = server.taken.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
    expect(slack?.['text']).toBe(
      [
        '*Open: The Mac “&lt;b&gt;*Front* desk” is not connected.*',
        'Since 2026-11-15 09:12 UTC',
        'Affects: loc1, loc2',
        'Next: Check that it is switched on.',
      ].join('\n'),
    );
    expect(teams).toMatchObject({
      type: 'message',
      attachments: [
        {
          contentType: 'application/vnd.microsoft.card.adaptive',
          content: {
            type: 'AdaptiveCard',
            body: [{ text: expect.stringContaining('\\*Front\\* desk') }, {}, {}, {}],
          },
        },
      ],
    });
  });
});

describe('email', () => {
  it('sends a mail to all recipients, with the same Message-ID in every attempt', async () => {
    const { server, email } = await startMail();
    expect(await email().send(ALERT)).toEqual({ ok: true });
    await email().send(ALERT);
    for (const mail of server.mails) {
      expect(mail).toContain('Message-ID: <alert_1@footbridge>');
      expect(mail).toContain('To: ops@example.com, night@example.com');
      expect(mail).toContain('Auto-Submitted: auto-generated');
    }
    expect(server.mails).toHaveLength(2);
  });

  it('reports a rejection and a lost connection', async () => {
    const { server, email } = await startMail();
    server.behaviour = () => 'reject';
    expect(await email().send(ALERT)).toEqual({ ok: false, reason: 'the mail server responded with 451' });
    server.behaviour = () => 'drop';
    expect(await email().send(ALERT)).toMatchObject({ ok: false });
  });

  it('never sends a password over an unencrypted connection', async () => {
    const { server, email } = await startMail();
    const url = server.url.replace('smtp://', 'smtp://user:password@');
    expect(await email({ url }).send(ALERT)).toMatchObject({ ok: false });
    expect(server).toMatchObject({ mails: [], passwords: [] });
  });

  it('refuses a private address', async () => {
    const { email } = await startMail();
    expect(await email({ allowPrivate: false }).send(ALERT)).toMatchObject({
      reason: expect.stringContaining('not public'),
    });
  });

  it.each<[string, (socket: Socket) => void]>([
    ['says nothing', () => {}],
    [
      'drips a greeting without end',
      (socket) => {
        const timer = setInterval(() => socket.write('220-x\r\n'), 20);
        socket.on('close', () => clearInterval(timer));
      },
    ],
  ])('gives up a server that %s', async (_name, greet) => {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket.on('error', () => {}));
      greet(socket);
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    cleanup.add(() => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(resolve));
    });
    const { email } = await startMail();
    const url = `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect(await email({ url, timeoutMs: 300 }).send(ALERT)).toEqual({
      ok: false,
      reason: 'the mail server did not respond within 0.3 s',
    });
  });
});
