import { startHttpReceiver, startMailServer } from '@footbridge/testkit/alert-receivers';
import type { HttpBehaviour } from '@footbridge/testkit/alert-receivers';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { seeded } from '@footbridge/testkit/seeded';
import { silentLog } from '@footbridge/testkit/silent-log';
import { until } from '@footbridge/testkit/until';
import { afterEach, expect, it } from 'vitest';

import { createAlertOutbox } from './alert-outbox-sql.ts';
import { createSlackReceiver } from './alerts-slack.ts';
import { createSmtpReceiver } from './alerts-smtp.ts';
import { createWebhookReceiver } from './alerts-webhook.ts';
import { createIssues } from './issues-sql.ts';
import type { Issue } from './issues-sql.ts';
import { openDatabase } from '../../platform/sql/open-database.ts';
import { AlertSender } from './send-alerts.ts';
import type { AlertSenderDeps } from './send-alerts.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const HOUR = 3_600_000;

interface Body {
  readonly type: string;
  readonly data: { readonly changes: readonly { change: string; issue: { sentence: string } }[] };
}

async function start(changed: Partial<AlertSenderDeps> = {}, names = ['a']) {
  // Noon, UTC.
  const clock = new FakeClock(Date.UTC(2026, 10, 16, 12));
  const database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {});
  cleanup.add(() => database.close());
  const issues = createIssues({ db: database.db, clock });
  const webhook = await startHttpReceiver();
  const slack = await startHttpReceiver();
  const mail = await startMailServer();
  for (const server of [webhook, slack, mail]) cleanup.add(() => server.close());
  const target = (url: string) => ({ url: new URL(url), allowPrivate: true, timeoutMs: 60_000 });
  const receivers = [
    createWebhookReceiver({ ...target(webhook.url), secret: Buffer.alloc(32), now: () => clock.now() }),
    createSlackReceiver(target(slack.url)),
    createSmtpReceiver({ ...target(mail.url), from: 'footbridge@example.com', to: ['ops@example.com'] }),
  ];
  const counted: string[] = [];
  const senders = new Map<string, AlertSender>();
  const startSender = (node: string) => {
    const sender = new AlertSender({
      outbox: createAlertOutbox({ db: database.db, clock, otherNodes: true }),
      receivers,
      quietHours: undefined,
      reminderMs: null,
      node,
      clock,
      log: silentLog,
      failpoint: undefined,
      count: (receiver, result) => counted.push(`${receiver} ${result}`),
      ...changed,
    });
    senders.set(node, sender);
  };
  for (const name of names) startSender(name);
  cleanup.add(() => Promise.all(Array.from(senders.values(), (sender) => sender.close())));

  const idle = () => Promise.all(Array.from(senders.values(), (sender) => sender.idle()));
  let count = 0;
  return {
    clock,
    webhook,
    slack,
    mail,
    counted,
    senders,
    startSender,
    issues,
    open: (number: number): Promise<Issue[]> =>
      issues.open(
        Array.from({ length: number }, () => {
          const subject = `loc${++count}`;
          return {
            kind: 'mac_offline' as const,
            subject,
            locationIds: [subject],
            sentence: `Problem of ${subject}.`,
            action: 'Switch it on.',
            since: null,
          };
        }),
        'a',
      ),
    close: (list: readonly Issue[]) => issues.close(list.map(({ id }) => id)),
    idle,
    /** Lets time pass, with one check per step. */
    pass: async (ms: number, stepMs = 5000) => {
      for (let passed = 0; passed < ms; passed += stepMs) {
        clock.advanceWallClock(stepMs - 5000);
        await clock.advance(5000);
        await idle();
      }
    },
    bodies: () => webhook.taken.map(({ body }) => JSON.parse(body) as Body),
    /** The changes that the webhook received, each as `opened loc1`. */
    told: () =>
      webhook.taken
        .flatMap(({ body }) => (JSON.parse(body) as Body).data.changes)
        .map(({ change, issue }) => `${change} ${issue.sentence.slice('Problem of '.length, -1)}`),
  };
}

it('tells every receiver once that an issue opened, and once that it closed', async () => {
  const { open, close, pass, told, slack, mail } = await start();
  const issues = await open(1);
  await pass(60_000);
  expect(told()).toEqual(['opened loc1']);
  await close(issues);
  await pass(60_000);
  expect(told()).toEqual(['opened loc1', 'closed loc1']);
  expect([slack.taken.length, mail.mails.length]).toEqual([2, 2]);
});

it('sends many changes of one moment as a digest', async () => {
  const { open, pass, bodies, slack, mail } = await start();
  await open(150);
  await pass(5000);
  expect(bodies().map(({ type, data }) => [type, data.changes.length])).toEqual([
    ['issue.digest', 100],
    ['issue.digest', 50],
  ]);
  expect([slack.taken.length, mail.mails.length]).toEqual([2, 2]);
});

it('sends nothing during quiet hours, and everything afterwards', async () => {
  const { open, close, pass, told } = await start({
    quietHours: { from: 13 * 60, until: 15 * 60, timeZone: 'UTC' },
  });
  await pass(HOUR, 60_000);
  await close(await open(1));
  // Issues of one moment have no order.
  await pass(60_000, 60_000);
  await open(1);
  await pass(HOUR, 60_000);
  expect(told()).toEqual([]);
  await pass(HOUR, 60_000);
  expect(told()).toEqual(['opened loc1', 'opened loc2', 'closed loc1']);
});

it('sends a reminder of an issue that stays open', async () => {
  const { open, pass, told } = await start({ reminderMs: HOUR });
  await open(1);
  await pass(2 * HOUR + 120_000, 60_000);
  expect(told()).toEqual(['opened loc1', 'reminder loc1', 'reminder loc1']);
});

it('gives up an alert after three days, and continues with the next', async () => {
  const { open, pass, webhook, counted, told } = await start();
  webhook.behaviour = () => 'fail';
  await open(1);
  await pass(71 * HOUR, HOUR);
  expect(counted).not.toContain('webhook given_up');
  await pass(3 * HOUR, HOUR);
  expect(counted).toContain('webhook given_up');
  webhook.behaviour = () => 'accept';
  await open(1);
  await pass(5000);
  expect(told()).toEqual(['opened loc2']);
});

it('a receiver that hangs delays neither the others nor the shutdown of the service', async () => {
  const { open, clock, senders, webhook, slack, mail } = await start();
  webhook.behaviour = () => 'hang';
  await open(1);
  await clock.advance(5000);
  await until(() => slack.taken.length === 1 && mail.mails.length === 1 && webhook.requests === 1);
  const closing = senders.get('a')?.close();
  await clock.advance(1000);
  await closing;
});

it('resends an alert whose response was lost, with the same id', async () => {
  const { open, pass, webhook } = await start();
  webhook.behaviour = () => (webhook.requests === 1 ? 'lose' : 'accept');
  await open(1);
  await pass(30_000);
  expect(webhook.taken.map(({ headers }) => headers['webhook-id'])).toHaveLength(2);
  expect(new Set(webhook.taken.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
});

it('loses and repeats nothing over 150 changes with failing receivers, two nodes and restarts', async () => {
  const random = seeded(24);
  const { open, close, clock, idle, pass, webhook, slack, mail, senders, startSender, told } = await start(
    {},
    ['a', 'b'],
  );
  const FAULTS: HttpBehaviour[] = ['fail', 'reset', 'redirect', 'huge'];
  const misbehave = (): HttpBehaviour =>
    random() < 0.4 ? (FAULTS[Math.floor(random() * FAULTS.length)] ?? 'fail') : 'accept';
  webhook.behaviour = misbehave;
  slack.behaviour = misbehave;
  mail.behaviour = () => (random() < 0.3 ? 'reject' : 'accept');
  const waiting: Issue[] = [];
  const expected: string[] = [];
  for (let round = 0; expected.length < 150; round++) {
    const opened = await open(random() < 0.2 ? 8 : 2);
    waiting.push(...opened);
    expected.push(...opened.map(({ subject }) => `opened ${subject}`));
    if (random() < 0.7) {
      const closed = await close(waiting.splice(0, Math.ceil(random() * 3)));
      expected.push(...closed.map(({ subject }) => `closed ${subject}`));
    }
    await clock.advance(5000);
    if (round % 10 === 9) {
      const node = round % 20 === 9 ? 'a' : 'b';
      await senders.get(node)?.close();
      startSender(node);
    }
    await idle();
  }
  webhook.behaviour = slack.behaviour = () => 'accept';
  mail.behaviour = () => 'accept';
  await pass(3 * HOUR, 120_000);

  expect(told().toSorted()).toEqual(expected.toSorted());
  const order = told();
  for (const change of expected.filter((one) => one.startsWith('closed')))
    expect(order.indexOf(change)).toBeGreaterThan(order.indexOf(change.replace('closed', 'opened')));
  const ids = webhook.taken.map(({ headers }) => headers['webhook-id']);
  expect(new Set(ids).size).toBe(ids.length);
  const words = (text: string) =>
    Array.from(
      text.matchAll(/(Open|Resolved): Problem of (loc\d+)\./g),
      ([, word, subject]) => `${word === 'Open' ? 'opened' : 'closed'} ${subject}`,
    );
  expect(slack.taken.flatMap(({ body }) => words(body)).toSorted()).toEqual(expected.toSorted());
  // The subject repeats the first line of the text, and lines may be folded.
  const texts = mail.mails.map((one) => one.slice(one.indexOf('\r\n\r\n')).replaceAll('=\r\n', ''));
  expect(texts.flatMap(words).toSorted()).toEqual(expected.toSorted());
}, 300_000);
